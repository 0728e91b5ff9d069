import { expect } from 'chai';
import { type EmbeddedStore, MemoryEngine, openStore } from '../../store/index.js';
import { Journal, reconcileRecords } from './journal.js';

const key = 'home/a';

describe('records of reconciles', () => {
  const opened: EmbeddedStore[] = [];
  const open = async (): Promise<EmbeddedStore> => {
    const store = await openStore({ engine: new MemoryEngine() });
    opened.push(store);
    return store;
  };
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });
  const dueTimes = async (store: EmbeddedStore): Promise<readonly (number | undefined)[]> =>
    (await store.list(reconcileRecords)).items.map(({ dueAt }) => dueAt);
  const schedule = async (journal: Journal, dueAt: number | undefined): Promise<void> => {
    await journal.refresh(key);
    const { operations, next } = journal.schedule(key, dueAt, undefined);
    await journal.write(key, operations, next);
  };

  for (const happened of [true, false])
    it(`reads a record again after a write of unknown outcome that ${happened ? 'was' : 'was not'} committed`, async () => {
      const store = await open();
      let loses = true;
      const losing = new Proxy(store, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== 'function') return value;
          if (name !== 'transact' || !loses) return value.bind(target) as unknown;
          return async (...args: Parameters<EmbeddedStore['transact']>) => {
            loses = false;
            if (happened) await target.transact(...args);
            throw new Error('no answer');
          };
        },
      });
      const journal = new Journal(losing, 'disk');
      await journal.load();
      const failed: unknown = await schedule(journal, 100_000).catch((error: unknown) => error);
      expect(String(failed)).to.contain('no answer');
      await schedule(journal, 200_000);
      expect(await dueTimes(store)).to.deep.equal([200_000]);
      await schedule(journal, undefined);
      expect(await dueTimes(store)).to.deep.equal([]);
    });

  it('uses the records of the new store after the store was replaced', async () => {
    const [first, second] = [await open(), await open()];
    let store = first;
    const handle = new Proxy(first, {
      get: (_, name) => {
        const value: unknown = Reflect.get(store, name, store);
        return typeof value === 'function' ? (value.bind(store) as unknown) : value;
      },
    });
    const journal = new Journal(handle, 'disk');
    await journal.load();
    await schedule(journal, 100_000);
    store = second;
    await schedule(journal, 100_000);
    expect(await dueTimes(second)).to.deep.equal([100_000]);
    await schedule(journal, 300_000);
    expect(await dueTimes(second)).to.deep.equal([300_000]);
    expect(await dueTimes(first)).to.deep.equal([100_000]);
  });
});
