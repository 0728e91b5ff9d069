import { seededRandom } from 'kedge';
import { requireDevices } from '../../../drivers/devices.js';
import { ImageWorld } from '../world.js';
import { RealMachine } from './real-machine.js';
import { seed as draw } from '../../../fixtures/seed.js';

/** Seeds of the complete run; shorter runs draw theirs from these. */
const wholeRun = 50;
const sampleSize = Number(process.env['KEDGE_REAL_NODE_SEEDS'] ?? 1);
const onlySeed = process.env['KEDGE_STORAGE_SEED'];
const steps = 30;

describe('images of this machine under random users and kills', function () {
  this.timeout(3_600_000);
  let machine: RealMachine | undefined;

  before(function () {
    requireDevices(this);
  });
  afterEach(async () => {
    await machine?.close();
  });

  async function live(seed: number): Promise<void> {
    machine = new RealMachine();
    const world = new ImageWorld(seed, machine);
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

  it('keep acknowledged records, one user per volume and complete snapshots, and leave no resources', async () => {
    if (onlySeed !== undefined) return live(Number(onlySeed));
    const count = Math.min(sampleSize, wholeRun);
    const first = Math.floor(seededRandom(draw).next() * wholeRun);
    console.log(`    ${count} of ${wholeRun} seeds, drawn by KEDGE_SEED=${draw}`);
    for (let n = 0; n < count; n += 1) await live(((first + n) % wholeRun) + 1);
  });
});
