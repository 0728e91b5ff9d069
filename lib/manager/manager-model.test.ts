import { expect } from 'chai';
import fc from 'fast-check';
import { type Runnable, seededRandom, type StatusError } from '../base/index.js';
import { leases } from '../election/index.js';
import { MemoryEngine, openStore } from '../store/index.js';
import { FakeClock, settle } from '../testing/index.js';
import { type CallMode, unreliableStore } from '../testing/unreliable-store.js';
import { Manager } from './index.js';

/** The outcome of a call of a runnable. */
type Ending = 'at once' | 'late' | 'hang' | 'throw' | 'reject';
const endings: readonly Ending[] = ['at once', 'at once', 'late', 'hang', 'throw', 'reject'];
const lateMs = 300;

/** A runnable that records its calls, and checks that it runs when it is stopped. */
class Subject implements Runnable {
  readonly name: string;
  readonly needsLeaderElection: boolean;
  readonly #clock: FakeClock;
  readonly #startEnding: Ending;
  readonly stopEnding: Ending;
  calls = '';
  startedAt = 0;
  up = false;

  constructor(name: string, clock: FakeClock, plan: Plan) {
    this.name = name;
    this.#clock = clock;
    this.needsLeaderElection = plan.leader;
    this.#startEnding = plan.start;
    this.stopEnding = plan.stop;
  }

  start(): Promise<void> {
    this.calls += 's';
    return this.#end(this.#startEnding).then(() => {
      this.calls += 'S';
      this.up = true;
    });
  }

  stop(): Promise<void> {
    expect(this.up, `${this.name} runs when it is stopped`).to.equal(true);
    this.calls += 'x';
    this.up = false;
    return this.#end(this.stopEnding);
  }

  #end(ending: Ending): Promise<void> {
    switch (ending) {
      case 'at once':
        return Promise.resolve();
      case 'late':
        return new Promise((resolve) => this.#clock.setTimer(resolve, lateMs));
      case 'hang':
        return new Promise(() => undefined);
      case 'throw':
        throw new Error('thrown');
      case 'reject':
        return Promise.reject(new Error('rejected'));
    }
  }
}

interface Plan {
  readonly leader: boolean;
  readonly start: Ending;
  readonly stop: Ending;
}

const plan = fc.record({
  leader: fc.boolean(),
  start: fc.constantFrom(...endings),
  stop: fc.constantFrom(...endings),
});
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('add' as const), plan }) },
  fc.record({ type: fc.constant('start' as const) }),
  fc.record({
    type: fc.constant('stop' as const),
    budgetMs: fc.constantFrom(0, 100, 500, 1_000, 5_000),
  }),
  fc.record({ type: fc.constant('lose' as const) }),
  fc.record({
    type: fc.constant('store' as const),
    mode: fc.constantFrom<CallMode>('pass', 'hang', 'fail'),
  }),
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('wait' as const),
      ms: fc.constantFrom(0, 0, 1, 200, 400, 3_000, 12_000),
    }),
  },
);

/** The outcome of a promise and its time by the clock. */
function ending(promise: Promise<unknown>, clock: FakeClock) {
  const end: { at?: number; error?: unknown } = {};
  promise.then(
    () => (end.at = clock.now()),
    (error: unknown) => {
      end.at = clock.now();
      end.error = error;
    },
  );
  return end;
}

function leftRunning(subjects: readonly Subject[]): readonly string[] {
  return subjects.filter(({ up }) => up).map(({ name, calls }) => `${name} ${calls}`);
}

describe('a manager under random events', () => {
  it('starts and stops each part at most once, starts none after the stop of the manager, and ends the stop within its budget', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.boolean(),
        fc.array(step, { minLength: 3, maxLength: 20 }),
        async (elects, steps) => {
          const clock = new FakeClock();
          const store = await openStore({ engine: new MemoryEngine(), clock });
          const handle = unreliableStore(store);
          let lost = 0;
          const leaderElection = { name: 'jobs', identity: 'one', onLost: () => (lost += 1) };
          const manager = new Manager({
            store: handle.store,
            clock,
            random: seededRandom(1),
            ...(elects ? { leaderElection } : {}),
          });
          const subjects: Subject[] = [];
          const starts: ReturnType<typeof ending>[] = [];
          let stop: { readonly end: ReturnType<typeof ending>; readonly dueAt: number } | undefined;
          /** The parts that were started before the stop of the manager. */
          let startedBefore: readonly string[] | undefined;
          const startedNow = () => subjects.filter(({ calls }) => calls !== '').map((s) => s.name);
          const wasStopped = () => manager.state === 'stopping' || manager.state === 'stopped';
          const check = (): void => {
            for (const { name, calls } of subjects) expect(calls, name).to.match(/^(s|sS|sSx)?$/);
            if (wasStopped() && startedBefore)
              expect(startedNow(), 'nothing starts after a stop').to.deep.equal(startedBefore);
            const self = manager.health().find(({ name }) => name === 'manager');
            expect(self?.healthy).to.equal(manager.state === 'running');
            if (stop && clock.now() >= stop.dueAt)
              expect(stop.end.at, 'the stop ends within its budget').to.be.at.most(stop.dueAt);
          };
          const run = async (next: (typeof steps)[number]): Promise<void> => {
            switch (next.type) {
              case 'add': {
                const subject = new Subject(`r${subjects.length}`, clock, next.plan);
                try {
                  manager.addRunnable(subject);
                  subjects.push(subject);
                } catch (error) {
                  expect((error as StatusError).reason).to.equal('ManagerStopped');
                  expect(wasStopped(), 'adding is refused after a stop only').to.equal(true);
                }
                return;
              }
              case 'start': {
                const late = wasStopped();
                const start = ending(manager.start(), clock);
                starts.push(start);
                if (!late) return;
                await settle();
                expect((start.error as StatusError).reason).to.equal('ManagerStopped');
                return;
              }
              case 'stop': {
                const first = !wasStopped();
                if (first) startedBefore = startedNow();
                const end = ending(manager.stop(next.budgetMs), clock);
                if (first) stop = { end, dueAt: clock.now() + Math.max(100, next.budgetMs) };
                return;
              }
              case 'lose': {
                const [held] = (await store.list(leases)).items;
                if (held) await store.update(leases, { ...held, holderIdentity: 'thief' });
                return;
              }
              case 'store':
                handle.mode = next.mode;
                return;
              case 'wait':
                return clock.advance(next.ms);
            }
          };
          for (const next of steps) {
            await run(next);
            check();
          }
          const last = ending(manager.stop(1_000), clock);
          await clock.advance(30_000);
          check();
          expect(manager.state).to.equal('stopped');
          expect(
            starts.every(({ at }) => at !== undefined),
            'every start ends',
          ).to.equal(true);
          expect(lost).to.be.at.most(1);
          expect(leftRunning(subjects), 'left running').to.deep.equal([]);
          const message = last.error instanceof Error ? last.error.message : '';
          for (const { name, calls, stopEnding } of subjects) {
            if (calls === 'sSx' && stopEnding === 'hang')
              expect(message, name).to.contain(`runnable ${name} was abandoned`);
            if (calls === '' || stopEnding === 'at once')
              expect(message.includes(`runnable ${name} failed`), name).to.equal(false);
          }
          handle.mode = 'pass';
          handle.release();
          await clock.advance(30_000);
          expect(clock.pending, 'remaining timers').to.equal(0);
          await store.close();
        },
      ),
      { numRuns: 200 },
    );
  });
});
