import { Level } from 'level';
import { type DirectoryLock, lockDirectory } from '../directory/directory-lock.js';
import { checkTables } from '../table/table-check.js';

/** Whether a write is on the disk when it resolves. */
export type Durability = 'synced' | 'unsynced';

/** Writes that are applied atomically. */
export interface DatabaseBatch {
  put(key: Buffer, value: Buffer): this;
  del(key: Buffer): this;
  write(durability: Durability): Promise<void>;
}

/** Entries of a range in key order, at the time of its creation. */
export interface DatabaseIterator {
  /** Resolves to the next entries, at most `count`; to an empty list at the end. */
  nextv(count: number): Promise<readonly (readonly [Buffer, Buffer])[]>;
  close(): Promise<void>;
}

/** An open database of ordered keys: the engine's view of LevelDB. */
export interface Database {
  get(key: Buffer): Promise<Buffer | undefined>;
  put(key: Buffer, value: Buffer, durability: Durability): Promise<void>;
  batch(): DatabaseBatch;
  iterator(range: { readonly gte: Buffer; readonly lt: Buffer }): DatabaseIterator;
  close(): Promise<void>;
}

/** Opens databases. Tests replace it with a driver that simulates losses. */
export interface DatabaseDriver {
  /**
   * Locks a directory for this process.
   * @throws StatusError FailedPrecondition if another process holds it.
   */
  readonly lock: (directory: string) => Promise<DirectoryLock>;
  /**
   * Checks all tables of a database.
   * @throws Error that names the damage.
   */
  readonly check: (path: string) => Promise<void>;
  /** Opens or creates the database in an existing directory. */
  readonly open: (path: string, writeBufferBytes: number) => Promise<Database>;
}

/** Bytes per read of LevelDB. With its default of 16 KiB a read has few records. */
const chunkBytes = 1024 * 1024;
// The same encodings as the database's: options that differ from them are copied at each write.
const encodings = { keyEncoding: 'buffer', valueEncoding: 'buffer' } as const;
/** `sync` is an option of LevelDB that the types of the universal package omit. */
const writeOptions: Readonly<Record<Durability, object>> = {
  synced: { ...encodings, sync: true },
  unsynced: { ...encodings, sync: false },
};

class LevelBatch implements DatabaseBatch {
  readonly #batch: ReturnType<Level<Buffer, Buffer>['batch']>;

  constructor(db: Level<Buffer, Buffer>) {
    this.#batch = db.batch();
  }

  put(key: Buffer, value: Buffer): this {
    this.#batch.put(key, value);
    return this;
  }

  del(key: Buffer): this {
    this.#batch.del(key);
    return this;
  }

  write(durability: Durability): Promise<void> {
    return this.#batch.write(writeOptions[durability]);
  }
}

async function openLevel(path: string, writeBufferBytes: number): Promise<Database> {
  const db = new Level<Buffer, Buffer>(path, { ...encodings, writeBufferSize: writeBufferBytes });
  try {
    await db.open();
  } catch (error) {
    const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
    throw cause;
  }
  return {
    get: (key) => db.get(key),
    put: (key, value, durability) => db.put(key, value, writeOptions[durability]),
    batch: () => new LevelBatch(db),
    iterator: (range) => db.iterator({ ...range, highWaterMarkBytes: chunkBytes }),
    close: () => db.close(),
  };
}

/** LevelDB on the machine's file system. */
export const levelDriver: DatabaseDriver = {
  lock: lockDirectory,
  check: checkTables,
  open: openLevel,
};
