import {
  type Database,
  type DatabaseBatch,
  type DatabaseDriver,
  levelDriver,
  type Random,
} from 'kedge';

/** The failure of a write. */
export type Failure = 'before' | 'after';

/**
 * LevelDB with some failing writes, which may have been executed or not: appends, and the marks and drops of
 * compactions.
 * @param fails called at every write
 */
export function failingDriver(fails: () => Failure | undefined): DatabaseDriver {
  const attempt = async (write: () => Promise<void>): Promise<void> => {
    const failure = fails();
    if (failure === 'before') throw new Error('EIO: the write failed before it was done');
    await write();
    if (failure === 'after') throw new Error('EIO: the write failed after it was done');
  };
  const wrap = (database: Database): Database => ({
    get: (key) => database.get(key),
    put: (key, value, durability) => attempt(() => database.put(key, value, durability)),
    batch() {
      const inner = database.batch();
      const batch: DatabaseBatch = {
        put(key, value) {
          inner.put(key, value);
          return batch;
        },
        del(key) {
          inner.del(key);
          return batch;
        },
        write: (durability) => attempt(() => inner.write(durability)),
      };
      return batch;
    },
    iterator: (range) => database.iterator(range),
    close: () => database.close(),
  });
  return {
    ...levelDriver,
    open: async (...args) => wrap(await levelDriver.open(...args)),
  };
}

/** Fails one write in `every`, at random. */
export function nowAndThen(random: Random, every: number): () => Failure | undefined {
  return () => {
    if (random.next() * every >= 1) return undefined;
    return random.next() < 0.5 ? 'before' : 'after';
  };
}
