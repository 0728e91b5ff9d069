import { expect } from 'chai';
import { seededRandom, silentLogger, systemClock } from '../../base/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import { type EmbeddedStore, MemoryEngine, openStore } from '../../store/index.js';
import { CauseRegistry } from '../watches/causes.js';
import { Durability } from './durability.js';
import { OwnWrites } from '../watches/own-writes.js';
import { reconcileRecords } from '../effects/journal.js';
import { requeueAfter } from './result.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});

describe('the own writes of a controller', () => {
  it('are dropped when the store is replaced: the cache of another store never reaches their revisions', async () => {
    const stores: EmbeddedStore[] = [];
    for (const _ of ['old', 'new']) stores.push(await openStore({ engine: new MemoryEngine() }));
    let store = stores[0]!;
    const handle = new Proxy(store, {
      get: (_, name) => {
        const value: unknown = Reflect.get(store, name, store);
        return typeof value === 'function' ? (value.bind(store) as unknown) : value;
      },
    });
    const durability = new Durability({
      ...{ store: handle, controller: 'lamp', clock: systemClock, logger: silentLogger },
      ...{ ownWrites: new OwnWrites(), authors: new CauseRegistry(), conditionsOf: undefined },
      random: seededRandom(1),
    });
    const request = {
      ...{ key: { name: 'a' }, run: 1, failures: 0, causes: [], logger: silentLogger },
      signal: new AbortController().signal,
    };
    await durability.txn('a', request, (txn) => txn.create(lamps, { name: 'a' }));
    expect(durability.mustWait('a')).to.equal(true);
    store = stores[1]!;
    expect(durability.mustWait('a')).to.equal(false);
    for (const one of stores) await one.close();
  });
});

describe('the records of a controller', () => {
  let store: EmbeddedStore;
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
  });
  afterEach(() => store.close());

  const durabilityOver = (seen: EmbeddedStore): Durability =>
    new Durability({
      ...{ store: seen, controller: 'lamp', clock: systemClock, logger: silentLogger },
      ...{ ownWrites: new OwnWrites(), authors: new CauseRegistry(), conditionsOf: undefined },
      random: seededRandom(1),
    });
  const request = {
    ...{ key: { name: 'a' }, run: 1, failures: 0, causes: [], logger: silentLogger },
    signal: new AbortController().signal,
  };

  it('are read again after a committed transaction whose answer was lost', async () => {
    let loses = true;
    const losing = new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (name !== 'transact' || !loses) return value.bind(target) as unknown;
        return async (...args: Parameters<EmbeddedStore['transact']>) => {
          loses = false;
          await target.transact(...args);
          throw new Error('no answer');
        };
      },
    });
    const durability = durabilityOver(losing);
    const again = (name: string): Promise<unknown> =>
      durability.txn('a', request, (txn) => {
        txn.create(lamps, { name });
        return requeueAfter(3_600_000);
      });
    const failed: unknown = await again('a').catch((error: unknown) => error);
    expect(String(failed)).to.contain('no answer');
    await again('b');
    expect((await store.list(lamps)).items).to.have.length(2);
    expect((await store.list(reconcileRecords)).items).to.have.length(1);
  });

  it('of an earlier release queue their key at once if they have an external call', async () => {
    const later = { controller: 'lamp', dueAt: Date.now() + 3_600_000 };
    const effects = { make: { idempotencyKey: 'k', done: false } };
    await store.create(reconcileRecords, { name: 'lamp:a', key: 'a', ...later, effects });
    await store.create(reconcileRecords, { name: 'lamp:b', key: 'b', ...later });
    const restored = await durabilityOver(store).load();
    expect(restored.map(({ key, delayMs }) => [key, delayMs === 0])).to.deep.equal([
      ['a', true],
      ['b', false],
    ]);
  });
});
