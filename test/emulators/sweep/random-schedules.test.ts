import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Random, seededRandom } from 'kedge';
import { eightFaults, type Fault } from '../core/faults.js';
import { unspecifiedCalls } from '../schema/specified-calls.js';
import { CrashingDaemon, newPlan, type Plan, type Step } from './crashing-daemon.js';
import { driverNames, EmulatedCloud, testToken } from './emulated-cloud.js';

/** A failure prints its seed: KEDGE_CLOUD_SCHEDULE repeats that one schedule alone. */
const given = process.env['KEDGE_CLOUD_SCHEDULE'];
const schedules = Number(process.env['KEDGE_CLOUD_SCHEDULES'] ?? 12);
const seeds =
  given === undefined ? Array.from({ length: schedules }, (_, n) => n + 1) : [Number(given)];
const volumes = 3;
const faults: readonly Fault[] = Object.values(eightFaults);

function below(random: Random, max: number): number {
  return Math.floor(random.next() * max);
}

/** Draws the life of a volume: it is written in the first attachment, and read in each later one. */
function drawSteps(
  random: Random,
  able: { snapshots: boolean; onlineExpand: boolean },
): readonly Step[] {
  const steps: Step[] = ['provision'];
  const rounds = 1 + below(random, 3);
  for (let round = 0; round < rounds; round += 1) {
    steps.push('attach', round === 0 ? 'write' : 'read');
    if (able.onlineExpand && random.next() < 0.4) steps.push('expand');
    steps.push('detach');
    if (random.next() < 0.3) steps.push('expand');
    if (round === 0 && able.snapshots && random.next() < 0.5) steps.push('snapshot');
  }
  if (steps.includes('snapshot')) steps.push('deleteSnapshot');
  return [...steps, 'delete'];
}

interface Outcome {
  readonly problems: readonly string[];
  readonly crashes: number;
  readonly requests: number;
}

for (const provider of ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const)
  describe(`${driverNames[provider]} in random schedules with crashes of the daemon`, function () {
    this.timeout(600_000);
    let folder: string;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kedge-schedules-'));
      const first = new EmulatedCloud(provider, folder);
      await first.loadSdk();
      await first.emulator.close();
    });
    after(() => rm(folder, { recursive: true, force: true }));

    async function follow(seed: number): Promise<Outcome> {
      const random = seededRandom(seed);
      const cloud = new EmulatedCloud(provider, await mkdtemp(join(folder, 'disks-')), {
        actionMs: 200 + below(random, 2_000),
      });
      const { emulator, clock } = cloud;
      const able = (await cloud.driver()).capabilities();
      const plans: readonly Plan[] = Array.from({ length: volumes }, (_, n) =>
        newPlan(`volume-${seed}-${n}`, drawSteps(random, able)),
      );
      for (let n = below(random, 4); n > 0; n -= 1) {
        const fault = faults[below(random, faults.length)]!;
        emulator.faults.add({ on: () => true, nth: 1 + below(random, 60), fault });
      }
      const errors: string[] = [];
      const problems: string[] = [];
      let crashes = 0;
      const lives = below(random, 6);
      await clock.during(async () => {
        for (let life = 0; ; life += 1) {
          const crash = { atChange: 1 + below(random, 6), executed: random.next() < 0.7 };
          const daemon = new CrashingDaemon(cloud, life < lives ? crash : undefined, errors);
          const end = await daemon.run(plans).catch((error: unknown) => {
            problems.push(String(error));
            return 'done';
          });
          if (end === 'done') return;
          crashes += 1;
        }
      });
      if (problems.length === 0) problems.push(...(await emulator.inventory()));
      problems.push(...emulator.violations, ...unspecifiedCalls(provider, emulator.requests));
      if (errors.join('\n').includes(testToken)) problems.push('the token was disclosed');
      await emulator.close();
      return { problems, crashes, requests: emulator.requests.length };
    }

    it('loses nothing, makes nothing twice, and leaves nothing behind', async () => {
      const problems: string[] = [];
      let crashes = 0;
      let requests = 0;
      for (const seed of seeds) {
        const outcome = await follow(seed);
        problems.push(...outcome.problems.map((text) => `seed ${seed}: ${text}`));
        crashes += outcome.crashes;
        requests += outcome.requests;
      }
      console.log(
        `      ${seeds.length} schedules of ${volumes} volumes, ${crashes} crashes, ${requests} requests`,
      );
      expect(problems).to.deep.equal([]);
    });
  });
