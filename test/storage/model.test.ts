import { seededRandom } from 'kedge';
import { FakeMachine } from './image-model/fake-machine.js';
import { ImageWorld } from './image-model/world.js';
import { World } from './world.js';

/** Seeds of the whole run; shorter runs draw theirs from these. */
const wholeRun = 2_000;
const sampleSize = Number(process.env['KEDGE_STORAGE_SEEDS'] ?? 100);
const onlySeed = process.env['KEDGE_STORAGE_SEED'];
const steps = 30;

/** A world that random users, faults and crashes act upon, step by step. */
interface Model {
  readonly log: readonly string[];
  begin(): Promise<void>;
  act(): Promise<void>;
  check(): Promise<void>;
  heal(): Promise<void>;
  end(): Promise<void>;
}

async function live(seed: number, world: Model): Promise<void> {
  try {
    await world.begin();
    for (let step = 0; step < steps; step += 1) {
      await world.act();
      await world.check();
    }
    await world.heal();
    await world.end();
  } catch (error) {
    const story = world.log.join('\n');
    throw new Error(`seed ${seed} (KEDGE_STORAGE_SEED=${seed} replays it):\n${story}`, {
      cause: error,
    });
  }
}

const models = [
  ['disks of a provider', (seed: number): Model => new World(seed)],
  ['images of a node', (seed: number): Model => new ImageWorld(seed, new FakeMachine(seed))],
] as const;

describe('storage under random users, faults and crashes', function () {
  this.timeout(3_600_000);

  for (const [where, model] of models)
    it(`${where}: keeps the invariants of volumes and snapshots, leaks nothing and loses nothing`, async () => {
      const lives = (seed: number): Promise<void> => live(seed, model(seed));
      if (onlySeed !== undefined) return lives(Number(onlySeed));
      const count = Math.min(sampleSize, wholeRun);
      const draw = Number(process.env['KEDGE_SEED'] ?? Date.now() % 100_000);
      const first = Math.floor(seededRandom(draw).next() * wholeRun);
      console.log(`    ${count} of ${wholeRun} seeds, drawn by KEDGE_SEED=${draw}`);
      for (let n = 0; n < count; n += 1) await lives(((first + n) % wholeRun) + 1);
    });
});
