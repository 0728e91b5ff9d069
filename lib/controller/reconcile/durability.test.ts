import { expect } from 'chai';
import { seededRandom, silentLogger, systemClock } from '../../base/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import { type EmbeddedStore, MemoryEngine, openStore } from '../../store/index.js';
import { CauseRegistry } from '../watches/causes.js';
import { Durability } from './durability.js';
import { OwnWrites } from '../watches/own-writes.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});

describe('what a controller knows of its own writes', () => {
  it('is forgotten with the store that they were written to: no cache of another one reaches them', async () => {
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
