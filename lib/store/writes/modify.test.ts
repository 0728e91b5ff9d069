import { expect } from 'chai';
import { type ApiObject, defineKind } from '../../object/index.js';
import { MemoryEngine, modify, modifyStatus, openStore } from '../index.js';

interface Lamp extends ApiObject {
  readonly on?: boolean;
  readonly lit?: boolean;
}
const lamps = defineKind<Lamp>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: ['lit'],
});
const key = { name: 'hall' };

describe('modify', () => {
  it('retries with the state that others wrote meanwhile, also of a recreated object', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const made = await store.create(lamps, { ...key, on: false });
    const meanwhile = [
      () => store.update(lamps, { ...made, labels: { room: 'hall' } }),
      () => store.deleteByName(lamps, key),
      () => store.create(lamps, { ...key, labels: { room: 'attic' } }),
    ];
    const seen: unknown[] = [];
    const interfering: Pick<typeof store, 'get' | 'update' | 'updateStatus' | 'transact'> = {
      get: async (kind, name) => {
        const found = await store.get(kind, name);
        if (found) await meanwhile.shift()?.();
        if (!found) await meanwhile.shift()?.();
        return found;
      },
      update: (kind, object) => store.update(kind, object),
      updateStatus: (...given) => store.updateStatus(...given),
      transact: (operations) => store.transact(operations),
    };
    const stored = await modify(interfering, lamps, key, (lamp) => {
      seen.push(lamp.labels?.['room']);
      return { ...lamp, on: true };
    });
    expect(seen).to.deep.equal([undefined, 'hall']);
    expect(stored, 'it did not exist at the second read').to.equal(undefined);
    const recreated = await modify(interfering, lamps, key, (lamp) => ({ ...lamp, on: true }));
    expect(recreated).to.deep.include({ on: true, labels: { room: 'attic' } });
  });

  it('resolves to undefined for a missing object, and to the object if nothing changes', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    expect(await modify(store, lamps, key, (lamp) => lamp)).to.equal(undefined);
    expect(await modifyStatus(store, lamps, key, () => ({ lit: true }))).to.equal(undefined);
    const made = await store.create(lamps, key);
    expect(await modify(store, lamps, key, () => undefined)).to.deep.equal(made);
    expect((await modifyStatus(store, lamps, key, () => ({ lit: true })))?.lit).to.equal(true);
  });

  it('refuses a change that returns a promise, instead of writing nothing and resolving', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    await store.create(lamps, key);
    const messageOf = (work: Promise<unknown>): Promise<string> =>
      work.then(() => 'resolved', String);
    // Async functions, as a JavaScript caller may pass them; the types reject them.
    const later = (async () => ({ lit: true })) as unknown as () => { lit: boolean };
    const changed = (async (lamp: Lamp) => lamp) as unknown as (lamp: Lamp) => Lamp;
    expect(await messageOf(modifyStatus(store, lamps, key, later))).to.contain(
      'returned a promise',
    );
    expect(await messageOf(modify(store, lamps, key, changed))).to.contain('returned a promise');
  });
});
