import { seededRandom } from 'kedge';
import { World } from './world.js';

/** Seeds of the whole run; shorter runs draw theirs from these. */
const wholeRun = 2_000;
const sampleSize = Number(process.env['KEDGE_STORAGE_SEEDS'] ?? 100);
const onlySeed = process.env['KEDGE_STORAGE_SEED'];
const steps = 30;

async function live(seed: number): Promise<void> {
  const world = new World(seed);
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

describe('storage under random users, faults and crashes', function () {
  this.timeout(600_000);

  it('keeps the invariants of volumes and snapshots, leaks nothing and loses nothing', async () => {
    if (onlySeed !== undefined) return live(Number(onlySeed));
    const count = Math.min(sampleSize, wholeRun);
    const draw = Number(process.env['KEDGE_SEED'] ?? Date.now() % 100_000);
    const first = Math.floor(seededRandom(draw).next() * wholeRun);
    console.log(`    ${count} of ${wholeRun} seeds, drawn by KEDGE_SEED=${draw}`);
    for (let n = 0; n < count; n += 1) await live(((first + n) % wholeRun) + 1);
  });
});
