import { expect } from 'chai';
import { type Clock, hasCode, StatusError, systemClock } from '../../base/index.js';
import { type ApiObject, kindOf, type NewObject } from '../../object/index.js';
import { type EmbeddedStore, MemoryEngine, type Operation, openStore } from '../index.js';

interface Lamp extends ApiObject {
  readonly room: string;
}
const declaration = {
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
} as const;
const lamps = kindOf<Lamp>()(declaration);
/** The same kind in a program that declares an index. */
const indexedLamps = kindOf<Lamp>()({ ...declaration, indexes: { room: ({ room }) => [room] } });

/** A clock on which each step uses up its turn. */
class BusyClock implements Clock {
  readonly now = (): number => systemClock.now();
  readonly monotonic = (): number => systemClock.monotonic();
  readonly setTimer: Clock['setTimer'] = (...timer) => systemClock.setTimer(...timer);
  turns = 0;
  /** Callbacks by turn, which run between two steps of the staged transaction. */
  readonly between = new Map<number, () => void>();
  #isNew = false;

  turnAgeMs(): number {
    const age = this.#isNew ? 0 : 100;
    this.#isNew = false;
    return age;
  }

  defer(callback: () => void): void {
    setImmediate(() => {
      this.turns += 1;
      this.between.get(this.turns)?.();
      this.#isNew = true;
      callback();
    });
  }
}

/** A disk that refuses writes while `broken`. */
class BreakingEngine extends MemoryEngine {
  broken = false;

  override append(...records: Parameters<MemoryEngine['append']>): Promise<void> {
    if (this.broken) return Promise.reject(new Error('ENOSPC: no space left on device'));
    return super.append(...records);
  }
}

/** Creations; the first lamp is in the attic. */
const creations = (count: number): readonly Operation[] =>
  Array.from({ length: count }, (_, n) => {
    const object: NewObject<Lamp> = { name: `lamp-${n}`, room: n === 0 ? 'attic' : 'hall' };
    return { op: 'create', kind: lamps, object };
  });

describe('a transaction', () => {
  let clock: BusyClock;
  let engine: BreakingEngine;
  let store: EmbeddedStore;

  beforeEach(async () => {
    clock = new BusyClock();
    engine = new BreakingEngine();
    store = await openStore({ engine, clock });
    await store.create(lamps, { name: 'first', room: 'hall' });
    clock.turns = 0;
  });

  afterEach(() => store.close());

  const namesOf = async (): Promise<readonly string[]> =>
    (await store.list(lamps)).items.map(({ name }) => name);

  it('of at most 32 operations is staged in the turn of its call', async () => {
    await store.transact(creations(32));
    expect(clock.turns).to.equal(0);
    expect(await namesOf()).to.have.length(33);
  });

  it('of more is staged in slices, and reads see nothing of it until its end', async () => {
    let during: Promise<readonly string[]> | undefined;
    clock.between.set(100, () => {
      during = namesOf();
    });
    const results = await store.transact(creations(200));
    expect(clock.turns).to.be.at.least(200);
    expect(await during).to.deep.equal(['first']);
    expect(await namesOf()).to.have.length(201);
    const revisions = new Set(results.map(({ object }) => object.metadata.resourceVersion));
    expect([...revisions]).to.deep.equal(['2']);
  });

  it('that is called while a long one is staged follows it', async () => {
    let later: Promise<Lamp> | undefined;
    let twin: Promise<unknown> | undefined;
    clock.between.set(50, () => {
      later = store.create(lamps, { name: 'later', room: 'hall' });
      twin = store.create(lamps, { name: 'lamp-99', room: 'attic' }).catch((e: unknown) => e);
    });
    await store.transact(creations(100));
    expect((await later)?.metadata.resourceVersion).to.equal('3');
    expect(hasCode(await twin, 'AlreadyExists')).to.equal(true);
    expect((await store.get(lamps, { name: 'lamp-99' }))?.room).to.equal('hall');
  });

  it('waits with at most 128 MiB of others while a long one is staged; a further one is refused', async () => {
    const room = 'x'.repeat(1_000_000);
    const outcomes: Promise<unknown>[] = [];
    clock.between.set(50, () => {
      for (let n = 0; n < 140; n += 1) {
        const written = store.create(lamps, { name: `big-${n}`, room });
        outcomes.push(
          written.then(
            () => 'OK',
            (error: unknown) => error,
          ),
        );
      }
    });
    await store.transact(creations(100));
    const answers = await Promise.all(outcomes);
    const refused = answers.filter((answer) => answer !== 'OK');
    expect(refused).to.have.length(5);
    for (const error of refused) {
      expect(hasCode(error, 'ResourceExhausted')).to.equal(true);
      expect(error).to.have.property('reason', 'WriteQueueFull');
      expect((error as StatusError).message).to.contain('retry once earlier writes are answered');
    }
    const later = await store.create(lamps, { name: 'later', room: 'hall' });
    expect(later.room, 'the queue accepts writes again').to.equal('hall');
  });

  it('that is long and refused at its end changes nothing, and uses no revision', async () => {
    let later: Promise<Lamp> | undefined;
    clock.between.set(50, () => {
      later = store.create(lamps, { name: 'later', room: 'hall' });
    });
    const twice = [...creations(100), ...creations(1)];
    const refusal = await store.transact(twice).catch((error: unknown) => error);
    expect(hasCode(refusal, 'AlreadyExists')).to.equal(true);
    expect((await later)?.metadata.resourceVersion).to.equal('2');
    expect(await namesOf()).to.deep.equal(['first', 'later']);
  });

  it('that is long is rejected if the store is closed meanwhile, as are waiting ones', async () => {
    const outcomes: Promise<unknown>[] = [];
    let closed: Promise<void> | undefined;
    clock.between.set(50, () => {
      outcomes.push(store.create(lamps, { name: 'later', room: 'hall' }));
      closed = store.close();
    });
    outcomes.push(store.transact(creations(100)));
    await Promise.allSettled([outcomes[0]]);
    await closed;
    const settled = await Promise.allSettled(outcomes);
    const reasons = settled.map((outcome) =>
      outcome.status === 'rejected' ? StatusError.from(outcome.reason).reason : 'written',
    );
    expect(reasons).to.deep.equal(['StoreClosed', 'StoreClosed']);
  });

  it('that is long and based on a write that is lost meanwhile is not accepted', async () => {
    engine.broken = true;
    const lost = store
      .create(lamps, { name: 'lost', room: 'hall' })
      .catch((error: unknown) => error);
    const object: NewObject<Lamp> = { name: 'lost', room: 'attic' };
    const update: Operation = { op: 'overwrite', kind: lamps, object };
    const outcome = await store
      .transact([update, ...creations(100)])
      .catch((error: unknown) => error);
    expect(hasCode(await lost, 'Unavailable')).to.equal(true);
    expect(hasCode(outcome, 'Unavailable')).to.equal(true);
    expect(await namesOf()).to.deep.equal(['first']);
  });

  it('that is long counts as a change under an index that was learned while it was staged', async () => {
    let read: Promise<{ readonly revision: number }> | undefined;
    // By then the change of its first object is recorded, without the index.
    clock.between.set(150, () => {
      read = store.list(indexedLamps, { index: 'room', value: 'attic' });
    });
    await store.transact(creations(100));
    const { revision } = (await read) ?? { revision: 0 };
    expect(revision).to.equal(1);
    const check = { op: 'checkKind', kind: indexedLamps, revision, index: 'room', value: 'attic' };
    const refusal = await store.transact([check as Operation]).catch((error: unknown) => error);
    expect(hasCode(refusal, 'Aborted')).to.equal(true);
  });

  it('is what was given at its call, although its caller changes the objects before it is staged', async () => {
    const given = [...creations(100)];
    const long = store.transact(given);
    const [, second] = given;
    if (second?.op === 'create') Object.assign(second.object, { room: 'changed' });
    given.length = 10;
    const template = { name: '', room: 'hall' };
    const short = [1, 2, 3].map((n) => {
      template.name = `later-${n}`;
      return store.create(lamps, template);
    });
    expect(await long).to.have.length(100);
    expect((await store.get(lamps, { name: 'lamp-1' }))?.room).to.equal('hall');
    expect((await Promise.all(short)).map(({ name }) => name)).to.deep.equal([
      'later-1',
      'later-2',
      'later-3',
    ]);
  });

  it('that waits for a long one is staged in a turn of its own when the turn is used up', async () => {
    const short: Promise<Lamp>[] = [];
    const long = store.transact(creations(100));
    for (let n = 0; n < 50; n += 1) short.push(store.create(lamps, { name: `s-${n}`, room: 'x' }));
    await long;
    const before = clock.turns;
    const revisions = (await Promise.all(short)).map(({ metadata }) => metadata.resourceVersion);
    expect(clock.turns - before).to.be.at.least(45);
    expect(revisions).to.deep.equal(short.map((_, n) => String(n + 3)));
  });
});
