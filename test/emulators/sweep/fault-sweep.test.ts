import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eightFaults, type Fault } from '../core/faults.js';
import { unspecifiedCalls } from '../schema/specified-calls.js';
import { EmulatedCloud, sweepAccount, testToken } from './emulated-cloud.js';
import { LifeCycle } from './life-cycle.js';
import { seed } from '../../fixtures/seed.js';

/** The common faults, an answer without its body, and an action whose record stays running after its effect. */
const faults: Readonly<Record<string, Fault>> = {
  ...eightFaults,
  'empty body': { type: 'malformed', form: 'empty' },
  'record never ends': { type: 'neverFinish', effect: true },
};

/** The token, a line of the private key, and the beginning of every token that the key signs. */
const secrets = [testToken, sweepAccount.secret.split('\n')[2]!, 'eyJhbGci'];

/** Number of concurrent life cycles. Each has its own clock. Requests that an SDK makes take more of a processor. */
const atOnce = { cloud1: 16, cloud2: 16, cloud3: 2, cloud4: 4 } as const;

/**
 * One of this number of cases is run, unless all are requested: all of cloud3 and of cloud4 take minutes. It has no
 * divisor in common with the number of faults, so that each run has each fault.
 */
const sampled = { cloud1: 1, cloud2: 1, cloud3: 11, cloud4: 11 } as const;
const whole = process.env['KEDGE_FAULT_SWEEP'] === 'all';

/** Number of actions that the test may end for one that never ends: a modification is followed by an optimization. */
const endedMax = { cloud1: 1, cloud2: 1, cloud3: 2, cloud4: 1 } as const;

/** Returns the action of a request, or its method and path with a star for each id or name. */
function callOf({ method, path, action }: EmulatedCloud['emulator']['requests'][number]): string {
  if (action !== undefined) return action;
  return `${method} ${path.replaceAll(/\/([0-9a-f]{8}-[0-9a-f-]+|\d+|kedge-[^/]+|operation-[^/]+)(?=\/|$)/g, '/*')}`;
}

for (const provider of ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const)
  describe(`every call of the life of a ${provider} volume that fails once`, function () {
    this.timeout(1_200_000);
    let folder: string;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'kedge-sweep-'));
    });
    after(() => rm(folder, { recursive: true, force: true }));

    let lives = 0;
    async function begin(): Promise<{ readonly cloud: EmulatedCloud; readonly life: LifeCycle }> {
      const disks = await mkdtemp(join(folder, 'disks-'));
      const cloud = new EmulatedCloud(provider, disks, { actionMs: 400 });
      lives += 1;
      return { cloud, life: new LifeCycle(cloud, await cloud.driver(), lives) };
    }

    /** Runs one life cycle in which the nth request fails. Returns the problems. */
    async function live(nth: number, fault: Fault): Promise<readonly string[]> {
      const { cloud, life } = await begin();
      const { emulator } = cloud;
      emulator.faults.add({ on: () => true, nth, fault });
      const problems: string[] = [];
      await cloud.clock
        .during(() => life.run())
        .catch((error: unknown) => problems.push(String(error)));
      // Only an action that never ends and has no effect may need the test to end it.
      if (life.ended > (fault.type === 'neverFinish' && !fault.effect ? endedMax[provider] : 0))
        problems.push(`the provider had to end ${life.ended} actions`);
      if (problems.length === 0) problems.push(...(await emulator.inventory()));
      if (emulator.faults.left > 0) problems.push('the request was not made');
      problems.push(...emulator.violations, ...unspecifiedCalls(provider, emulator.requests));
      if (secrets.some((secret) => life.errors.join('\n').includes(secret)))
        problems.push('the credential was disclosed');
      await emulator.close();
      return problems;
    }

    it('converges: one resource, with its data, and nothing is left behind', async () => {
      const { cloud, life } = await begin();
      await cloud.loadSdk();
      const earlier = cloud.emulator.requests.length;
      await cloud.clock.during(() => life.run());
      const calls = cloud.emulator.requests.slice(earlier).map(callOf);
      expect(await cloud.emulator.inventory()).to.deep.equal([]);
      await cloud.emulator.close();
      const all = calls.flatMap((call, n) =>
        Object.entries(faults).map(([name, fault]) => ({ call, nth: n + 1, name, fault })),
      );
      const step = whole ? 1 : sampled[provider];
      const cases = all.filter((_, n) => n % step === seed % step);
      const problems: string[] = [];
      const left = cases.values();
      const worker = async (): Promise<void> => {
        for (const { call, nth, name, fault } of left) {
          const found = await live(nth, fault);
          if (found.length > 0) problems.push(`${nth} ${call}, ${name}: ${found.join('; ')}`);
        }
      };
      await Promise.all(Array.from({ length: atOnce[provider] }, worker));
      const kinds = Object.keys(faults).length;
      console.log(
        `      ${cases.length} of ${all.length} cases, KEDGE_SEED=${seed}: ${calls.length} requests, each failing in ${kinds} ways`,
      );
      expect(problems).to.deep.equal([]);
    });
  });
