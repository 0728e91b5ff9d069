import { expect } from 'chai';
import fc from 'fast-check';
import { seededRandom } from '../base/index.js';
import { type ApiObject, defineKind } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, settle } from '../testing/index.js';
import {
  type CallMode,
  type UnreliableStore,
  unreliableStore,
} from '../testing/unreliable-store.js';
import { LeaderElector, type LeaderCallbacks, leases } from './index.js';

const marks = defineKind<ApiObject>({
  kind: 'Mark',
  plural: 'marks',
  scope: 'Cluster',
  statusFields: [],
});

/** A candidate with its own handle on the store, and the callbacks that it received. */
class Member {
  readonly log: string[] = [];
  readonly name: string;
  readonly handle: UnreliableStore;
  readonly elector: LeaderElector;
  stop = new AbortController();
  over = true;
  throws = false;

  constructor(store: ObjectStore, name: string, clock: FakeClock) {
    this.name = name;
    this.handle = unreliableStore(store);
    const random = seededRandom(name.charCodeAt(0));
    const options = { name: 'lead', identity: name, clock, random };
    this.elector = new LeaderElector({ store: this.handle.store, ...options });
  }

  start(): void {
    if (!this.over) return;
    this.over = false;
    this.stop = new AbortController();
    const callbacks: LeaderCallbacks = {
      onStartedLeading: (signal) => {
        this.log.push('+');
        if (this.throws) throw new Error('work failed');
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      },
      onStoppedLeading: () => {
        this.log.push('-');
        if (this.throws) throw new Error('callback failed');
      },
    };
    void this.elector.run(callbacks, this.stop.signal).then(() => (this.over = true));
  }
}

/** A random event; times in milliseconds. */
const step = fc.oneof(
  fc.record({
    type: fc.constant('mode' as const),
    who: fc.nat(2),
    mode: fc.constantFrom<CallMode>('pass', 'hang', 'fail'),
  }),
  fc.record({ type: fc.constant('release' as const), who: fc.nat(2) }),
  fc.record({ type: fc.constant('start' as const), who: fc.nat(2) }),
  fc.record({ type: fc.constant('stop' as const), who: fc.nat(2) }),
  fc.record({ type: fc.constant('throw' as const), who: fc.nat(2) }),
  fc.record({ type: fc.constant('delete' as const) }),
  fc.record({
    type: fc.constant('wait' as const),
    ms: fc.constantFrom(0, 500, 2_000, 11_000, 16_000),
  }),
);

describe('an elector under random events', () => {
  it('keeps its budgets, reports start and end of leading alternately, and has one writer at a time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24 }), async (steps) => {
        const clock = new FakeClock();
        const store = await openStore({ engine: new MemoryEngine(), clock });
        const members = ['a', 'b', 'c'].map((name) => new Member(store, name, clock));
        let n = 0;
        for (const next of steps) {
          const member = members['who' in next ? next.who : 0]!;
          const { handle } = member;
          switch (next.type) {
            case 'mode':
              handle.mode = next.mode;
              break;
            case 'release':
              handle.release();
              break;
            case 'start':
              member.start();
              break;
            case 'throw':
              member.throws = !member.throws;
              break;
            case 'stop': {
              member.stop.abort();
              // The attempt in progress and the release of the lease it wrote: two retry periods.
              await clock.advance(4_100);
              expect(member.over, `${member.name} stops within its budget`).to.equal(true);
              expect(member.elector.state).to.be.oneOf(['idle', 'stopped']);
              break;
            }
            case 'delete':
              await store.deleteByName(leases, { name: 'lead' }).catch(() => undefined);
              break;
            case 'wait':
              await clock.advance(next.ms);
          }
          await settle();
          const leading = members.filter(({ elector }) => elector.isLeader);
          let writers = 0;
          for (const { elector, over } of members) {
            expect(elector.state === 'idle' || elector.state === 'stopped').to.equal(over);
            const created = elector.fence().create(marks, { name: `m${(n += 1)}` });
            // A hanging write is executed late, or never: it is not awaited.
            created.then(() => (writers += 1)).catch(() => undefined);
          }
          await settle();
          expect(writers, 'concurrent writers').to.be.at.most(1);
          for (const { elector, log } of members) {
            expect(log.join(''), 'start and stop alternate').to.match(/^(-|\+-)*\+?$/);
            if (elector.isLeader) expect(log.at(-1)).to.equal('+');
          }
          const deleted = steps.some(({ type }) => type === 'delete');
          if (!deleted)
            expect(leading.length, 'candidates that report leadership').to.be.at.most(1);
        }
        for (const { handle, stop } of members) {
          handle.mode = 'pass';
          handle.release();
          stop.abort();
        }
        await clock.advance(20_000);
        expect(members.map(({ over }) => over)).to.deep.equal([true, true, true]);
        expect(clock.pending, 'remaining timers').to.equal(0);
        await store.close();
      }),
      { numRuns: 100 },
    );
  });
});
