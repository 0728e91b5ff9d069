import { expect } from 'chai';
import fc from 'fast-check';
import { limits, seededRandom, StatusError } from '../base/index.js';
import { type ApiObject, defineKind } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock, settle } from '../testing/index.js';
import { LeaderElector, leases } from './index.js';

const marks = defineKind<ApiObject & { readonly by?: string }>({
  kind: 'Mark',
  plural: 'marks',
  scope: 'Cluster',
  statusFields: [],
});

/** A candidate with its own clock, which can stand still like that of a paused process. */
class Candidate {
  readonly clock = new FakeClock();
  readonly log: string[] = [];
  readonly elector: LeaderElector;
  readonly stop = new AbortController();
  readonly running: Promise<void>;

  constructor(store: ObjectStore, identity: string) {
    const { clock } = this;
    const random = seededRandom(identity.length);
    this.elector = new LeaderElector({ store, name: 'lead', identity, clock, random });
    this.running = this.elector.run(
      {
        onStartedLeading: (signal) => {
          this.log.push('started');
          return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
        },
        onStoppedLeading: () => void this.log.push('stopped'),
        onNewLeader: (leader) => this.log.push(`leader ${leader}`),
      },
      this.stop.signal,
    );
  }
}

/** A separate handle on the store, like that of another process. */
function handleOf(store: ObjectStore): ObjectStore {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

async function together(candidates: readonly Candidate[], ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500)
    for (const { clock } of candidates) await clock.advance(500);
}

describe('leader election', () => {
  let store: ObjectStore;
  let open: Candidate[];
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    open = [];
  });
  afterEach(async () => {
    for (const candidate of open) candidate.stop.abort();
    await Promise.all(open.map((candidate) => candidate.running));
    await store.close();
  });
  const join = (identity: string): Candidate => {
    const candidate = new Candidate(store, identity);
    open.push(candidate);
    return candidate;
  };
  const refusal = async (write: Promise<unknown>): Promise<string> =>
    write.then(
      () => 'written',
      (error: unknown) => (error instanceof StatusError ? error.reason : String(error)),
    );

  it('one candidate leads; when it stops, the next one leads without waiting for the lease to expire', async () => {
    const a = join('a');
    await settle();
    const b = join('b');
    await together([a, b], 30_000);
    expect([a.elector.isLeader, b.elector.isLeader]).to.deep.equal([true, false]);
    expect(b.elector.leader).to.equal('a');
    expect(b.log).to.deep.equal(['leader a']);
    a.stop.abort();
    await a.running;
    expect(a.log).to.deep.equal(['leader a', 'started', 'stopped']);
    await together([b], 3_000);
    expect(b.elector.isLeader).to.equal(true);
    expect((await store.get(leases, { name: 'lead' }))?.leaseTransitions).to.equal(2);
  });

  it('a standby takes over only after the lease was unchanged for the lease duration, by its own clock', async () => {
    const a = join('a');
    await settle();
    const b = join('b');
    await together([a, b], 10_000);
    // The clock of a stands still: it renews nothing and does not notice.
    await together([b], 14_000);
    expect(b.elector.isLeader).to.equal(false);
    await together([b], 4_000);
    expect(b.elector.isLeader).to.equal(true);
  });

  it('a leader that has not noticed its loss yet writes nothing through its fence', async () => {
    const a = join('a');
    await settle();
    const b = join('b');
    const fenced = a.elector.fence();
    await together([a, b], 5_000);
    expect(await refusal(fenced.create(marks, { name: 'one', by: 'a' }))).to.equal('written');
    await together([b], 20_000);
    expect([a.elector.isLeader, b.elector.isLeader]).to.deep.equal([true, true]);
    expect(await refusal(fenced.create(marks, { name: 'two', by: 'a' }))).to.equal(
      'LeadershipLost',
    );
    const update = fenced.update(marks, (await store.get(marks, { name: 'one' }))!);
    expect(await refusal(update)).to.equal('LeadershipLost');
    expect(await refusal(fenced.deleteByName(marks, { name: 'one' }))).to.equal('LeadershipLost');
    const mine = b.elector.fence().create(marks, { name: 'two', by: 'b' });
    expect(await refusal(mine)).to.equal('written');
    await together([a], 3_000);
    expect(a.elector.isLeader).to.equal(false);
    expect(a.log.slice(0, 3)).to.deep.equal(['leader a', 'started', 'leader b']);
  });

  it('a fenced transaction has the same limit as an unfenced one: the fence does not count', async () => {
    const a = join('a');
    await together(open, 3_000);
    const { transactionOperationsMax } = limits;
    const creations = Array.from({ length: transactionOperationsMax }, (_, n) => ({
      op: 'create' as const,
      kind: marks,
      object: { name: `m${n}` },
    }));
    const results = await a.elector.fence().transact(creations);
    expect(results).to.have.length(transactionOperationsMax);
    const more = [...creations, { op: 'create' as const, kind: marks, object: { name: 'x' } }];
    for (const writer of [a.elector.fence(), store])
      expect(await refusal(writer.transact(more))).to.equal('TransactionTooLarge');
  });

  it('errors other than a lost leadership pass through the fence unchanged', async () => {
    const a = join('a');
    await settle();
    const fenced = a.elector.fence();
    await fenced.create(marks, { name: 'one' });
    expect(await refusal(fenced.create(marks, { name: 'one' }))).to.equal('AlreadyExists');
    const stale = { resourceVersion: '1' };
    expect(await refusal(fenced.deleteByName(marks, { name: 'one' }, stale))).to.equal('Conflict');
    expect(await refusal(fenced.deleteByName(marks, { name: 'none' }))).to.equal('NotFound');
  });

  it('a candidate that returns under its old identity waits like any other', async () => {
    const a = join('a');
    await settle();
    expect(a.elector.isLeader).to.equal(true);
    const restarted = new Candidate(handleOf(store), 'a');
    open.push(restarted);
    await together([restarted], 10_000);
    expect(restarted.elector.isLeader).to.equal(false);
    await together([restarted], 8_000);
    expect(restarted.elector.isLeader).to.equal(true);
    expect(await refusal(a.elector.fence().create(marks, { name: 'x' }))).to.equal(
      'LeadershipLost',
    );
  });

  it('a leader steps down if it cannot renew, before another candidate may lead', async () => {
    const a = join('a');
    await settle();
    const update = store.update.bind(store);
    store.update = () => Promise.reject(new Error('no route'));
    await together([a], 9_500);
    expect(a.elector.isLeader).to.equal(true);
    await together([a], 2_500);
    expect(a.log).to.include('stopped');
    store.update = update;
  });

  it('a leader steps down if a renewal hangs, and does not lead again when the renewal ends late', async () => {
    const a = join('a');
    await settle();
    const update = store.update.bind(store);
    let release: () => void = () => undefined;
    const hung = new Promise<void>((resolve) => (release = resolve));
    store.update = (async (...args: Parameters<typeof update>) => {
      await hung;
      return update(...args);
    }) as typeof store.update;
    await together([a], 13_000);
    expect(a.elector.isLeader).to.equal(false);
    store.update = update;
    release();
    await settle();
    expect(a.elector.isLeader).to.equal(false);
  });

  it('onStoppedLeading is called even if the candidate never led', async () => {
    const a = join('a');
    await settle();
    const b = join('b');
    await together([a, b], 1_000);
    b.stop.abort();
    await b.running;
    expect(b.log.at(-1)).to.equal('stopped');
  });

  it('refuses invalid times', () => {
    const times = { leaseDurationMs: 5_000, renewDeadlineMs: 6_000 };
    expect(() => new LeaderElector({ store, name: 'x', identity: 'a', ...times })).to.throw(
      RangeError,
      'renew deadline',
    );
  });

  it('fenced writes of one epoch never follow those of a later one, regardless of pauses', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('a', 'b', 'c', 'all'), { minLength: 5, maxLength: 25 }),
        async (turns) => {
          const shared = await openStore({ engine: new MemoryEngine() });
          const candidates = ['a', 'b', 'c'].map((name) => new Candidate(shared, name));
          let n = 0;
          const epochs: number[] = [];
          for (const turn of turns) {
            const awake = candidates.filter((_, i) => turn === 'all' || 'abc'[i] === turn);
            await together(awake, 6_000);
            let wrote = 0;
            for (const { elector } of candidates) {
              const made = await elector
                .fence()
                .create(marks, { name: `m${(n += 1)}` })
                .catch(() => undefined);
              const lease = await shared.get(leases, { name: 'lead' });
              if (made) epochs.push(lease!.leaseTransitions);
              if (made) wrote += 1;
            }
            expect(wrote, 'concurrent writers').to.be.lessThanOrEqual(1);
          }
          expect(epochs).to.deep.equal([...epochs].sort((x, y) => x - y));
          for (const candidate of candidates) candidate.stop.abort();
          await Promise.all(candidates.map((candidate) => candidate.running));
          await shared.close();
        },
      ),
      { numRuns: 15 },
    );
  });
});
