import { expect } from 'chai';
import { type Clock, systemClock } from '../../base/index.js';
import { type ApiObject, defineKind, kindOf } from '../../object/index.js';
import { type EmbeddedStore, MemoryEngine, openStore } from '../index.js';

interface Disk extends ApiObject {
  readonly tag: string;
}
const declaration = { kind: 'Disk', plural: 'disks', scope: 'Cluster', statusFields: [] } as const;
const disks = kindOf<Disk>()({ ...declaration, indexes: { tag: ({ tag }) => [tag] } });
/** The kind as declared by a caller without indexes. */
const plainDisks = defineKind<Disk>(declaration);

/** A clock on which each query reports a used-up turn, except the first one after a pause. */
function busyClock(): Clock {
  let fresh = false;
  return {
    ...systemClock,
    defer: (callback) =>
      systemClock.defer(() => {
        fresh = true;
        callback();
      }),
    turnAgeMs: () => {
      const ageMs = fresh ? 0 : 1_000;
      fresh = false;
      return ageMs;
    },
  };
}

async function under(store: EmbeddedStore, value: string): Promise<readonly string[]> {
  const { items } = await store.list(disks, { index: 'tag', value });
  return items.map(({ name }) => name);
}

describe('a list by index', () => {
  it('includes writes that were in progress when the store learned the index', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    const write = store.create(plainDisks, { name: 'a', tag: 'red' });
    const learning = under(store, 'red');
    await write;
    await learning;
    expect(await under(store, 'red')).to.deep.equal(['a']);
    await store.close();
  });

  it('includes changes during the first read of the index', async () => {
    const engine = new MemoryEngine();
    const first = await openStore({ engine });
    const names = Array.from({ length: 100 }, (_, n) => `d${String(n).padStart(3, '0')}`);
    for (const name of names) await first.create(disks, { name, tag: 'red' });
    await first.close();
    const store = await openStore({ engine, clock: busyClock() });
    const reading = under(store, 'red');
    // Beyond the part that was read so far.
    await store.overwrite(disks, { name: 'd098', tag: 'blue' });
    await store.deleteByName(disks, { name: 'd099' });
    expect(await reading).to.deep.equal(names.slice(0, 98));
    expect(await under(store, 'red')).to.deep.equal(names.slice(0, 98));
    expect(await under(store, 'blue')).to.deep.equal(['d098']);
    await store.close();
  });
});
