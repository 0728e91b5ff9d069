import { expect } from 'chai';
import { seededRandom } from 'kedge';
import { type HostileOutcome, type HostileRun, runHostile } from './hostile-disk.js';
import {
  dropsUnsynced,
  forgetsFailedDrops,
  forgetsWhatWasThere,
  restoresInPlace,
  type Variant,
} from './hostile-variants.js';

const seeds = Number(process.env['KEDGE_HOSTILE_SEEDS'] ?? 30);
const operations = Number(process.env['KEDGE_HOSTILE_OPERATIONS'] ?? 150);
const callStride = Number(process.env['KEDGE_HOSTILE_CALL_STRIDE'] ?? 12);
const firstSeed = Number(process.env['KEDGE_HOSTILE_FIRST_SEED'] ?? 1);

function summaryOf(outcomes: readonly HostileOutcome[]): string {
  const sum = (of: (outcome: HostileOutcome) => number): number =>
    outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const refused = outcomes.filter((outcome) => outcome.refused !== undefined).length;
  return `      ${outcomes.length} disks, ${sum((o) => o.operations)} writes, ${sum((o) => o.compactions)} compactions, ${sum((o) => o.faults)} faults, ${sum((o) => o.restores)} restores, ${refused} refused`;
}

describe('a store on a hostile disk', function () {
  this.timeout(0);

  const every = async (
    runs: Iterable<HostileRun>,
    check: (outcome: HostileOutcome, run: HostileRun) => void,
  ): Promise<void> => {
    const outcomes: HostileOutcome[] = [];
    for (const run of runs) {
      const outcome = await runHostile(run);
      check(outcome, run);
      outcomes.push(outcome);
    }
    console.log(summaryOf(outcomes));
  };
  const keeps = (outcome: HostileOutcome, run: HostileRun): void => {
    expect(outcome.violation, JSON.stringify(run)).to.equal(undefined);
    if (!run.damage) expect(outcome.refused, JSON.stringify(run)).to.equal(undefined);
  };
  const range = function* (of: (seed: number) => HostileRun): Iterable<HostileRun> {
    for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) yield of(seed);
  };

  it(`keeps acknowledged writes through faults, kills, power losses and restores: ${seeds} seeds`, () =>
    every(
      range((seed) => ({ seed, lives: 6, operations })),
      keeps,
    ));

  it(`opens with everything, or refuses, when its files have changed: ${seeds} seeds`, () =>
    every(
      range((seed) => ({ seed, lives: 8, operations: 40, damage: true })),
      keeps,
    ));

  it(`continues after a fault at every ${callStride}th call, with compactions, and opens again`, () => {
    const random = seededRandom(firstSeed);
    const runs: HostileRun[] = [];
    for (let at = 1; at <= 400; at += callStride)
      for (const type of ['error', 'errorAfter'] as const)
        for (const count of [1, 4]) {
          const code = random.next() < 0.5 ? 'ENOSPC' : 'EIO';
          runs.push({ seed: at, lives: 3, operations: 60, fault: { at, count, type, code } });
        }
    return every(runs, keeps);
  });

  it('continues for ten thousand operations after a full disk', () =>
    every(
      [3, 11].map((seed) => ({
        seed,
        lives: 2,
        operations: 4_000,
        fault: { at: 50 * seed, count: 3, type: 'error', code: 'ENOSPC' } as const,
      })),
      (outcome, run) => {
        keeps(outcome, run);
        expect(outcome.operations).to.be.greaterThan(10_000);
        expect(outcome.compactions).to.be.greaterThan(100);
      },
    ));

  /**
   * Disabled safeguards, each with a seed that detected the omission. A change of the disk's calls changes the
   * effect of a seed, so later seeds are tried as well until one detects it.
   */
  const found: readonly {
    readonly name: string;
    readonly variant: Variant;
    readonly run: HostileRun;
  }[] = [
    {
      name: 'a failed drop is forgotten',
      variant: forgetsFailedDrops,
      run: { seed: 86, lives: 6, operations: 200 },
    },
    {
      name: 'drops are not synced',
      variant: dropsUnsynced,
      run: { seed: 4, lives: 6, operations: 200 },
    },
    {
      name: 'the high-water mark does not cover existing writes',
      variant: forgetsWhatWasThere,
      run: { seed: 41, lives: 8, operations: 40, damage: true },
    },
    {
      name: 'a restore writes in place',
      variant: restoresInPlace,
      run: { seed: 11, lives: 6, operations: 200 },
    },
  ];
  const seedsTried = 150;
  for (const { name, variant, run } of found)
    it(`finds when ${name} (seed ${run.seed})`, async () => {
      for (let { seed } = run; seed < run.seed + seedsTried; seed += 1) {
        const broken = await runHostile({ ...run, seed, engine: variant });
        if (broken.violation === undefined) continue;
        if (seed !== run.seed) console.log(`      found by seed ${seed} now: ${broken.violation}`);
        keeps(await runHostile({ ...run, seed }), { ...run, seed });
        return;
      }
      expect.fail(`${seedsTried} seeds did not find it`);
    });
});
