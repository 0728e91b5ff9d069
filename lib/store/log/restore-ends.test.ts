import { expect } from 'chai';
import { type ApiObject, defineKind } from '../../object/index.js';
import { FakeClock } from '../../testing/index.js';
import { MemoryEngine, openStore } from '../index.js';

const kindNamed = (kind: string) =>
  defineKind<ApiObject>({
    kind,
    plural: `${kind.toLowerCase()}s`,
    scope: 'Cluster',
    statusFields: [],
  });
const lamps = kindNamed('Lamp');
const plugs = kindNamed('Plug');

describe('expiry times after a reopening', () => {
  it('belong to kind and name, and to the last state of each object', async () => {
    const engine = new MemoryEngine();
    const clock = new FakeClock();
    const expiresAt = new Date(clock.now() + 60_000).toISOString();
    const before = await openStore({ engine, clock });
    for (const name of ['ends', 'put off', 'made again'])
      await before.create(lamps, { name, metadata: { expiresAt } });
    await before.create(plugs, { name: 'ends' });
    const putOff = await before.get(lamps, { name: 'put off' });
    const later = new Date(clock.now() + 240_000).toISOString();
    await before.update(lamps, { ...putOff!, metadata: { ...putOff!.metadata, expiresAt: later } });
    await before.deleteByName(lamps, { name: 'made again' });
    await before.create(lamps, { name: 'made again' });
    await before.close();
    await using store = await openStore({ engine, clock });
    await clock.advance(120_000);
    const named = (list: { readonly items: readonly ApiObject[] }) => list.items.map((o) => o.name);
    expect(named(await store.list(lamps))).to.deep.equal(['made again', 'put off']);
    expect(named(await store.list(plugs))).to.deep.equal(['ends']);
    await clock.advance(240_000);
    expect(named(await store.list(lamps))).to.deep.equal(['made again']);
  });
});
