import {
  type Checkpoint,
  type DatabaseDriver,
  type Existing,
  type Fill,
  LevelEngine,
  type LevelEngineOptions,
  type RecordAddress,
  type Replacement,
} from 'kedge';

/** The engine without one of its safeguards, to check that the hostile disk detects it. */
export type Variant = (options: LevelEngineOptions) => LevelEngine;

/** Writes the checkpoint before it deletes the superseded records, and never retries a failed deletion. */
export const forgetsFailedDrops: Variant = (options) =>
  new (class extends LevelEngine {
    override async saveCheckpoint(
      checkpoint: Checkpoint,
      superseded: readonly RecordAddress[] = [],
    ): Promise<void> {
      await super.saveCheckpoint(checkpoint);
      await super.saveCheckpoint(checkpoint, superseded).catch(() => undefined);
    }
  })(options);

/** Drops are separate unsynced writes. */
export const dropsUnsynced: Variant = (options) =>
  new LevelEngine(
    options.driver ? { ...options, driver: droppingUnsynced(options.driver) } : options,
  );

function droppingUnsynced(driver: DatabaseDriver): DatabaseDriver {
  return {
    ...driver,
    open: async (path, writeBufferBytes) => {
      const database = await driver.open(path, writeBufferBytes);
      return {
        ...bound(database),
        batch: () => {
          const puts = database.batch();
          const drops: Buffer[] = [];
          const batch: ReturnType<typeof database.batch> = {
            put: (key, value) => (puts.put(key, value), batch),
            del: (key) => (drops.push(key), batch),
            write: async (durability) => {
              await puts.write(durability);
              // One by one, because many drops are spread over two logs.
              for (const key of drops) await database.batch().del(key).write('unsynced');
            },
          };
          return batch;
        },
      };
    },
  };
}

function bound<D extends Awaited<ReturnType<DatabaseDriver['open']>>>(database: D): D {
  return {
    get: database.get.bind(database),
    put: database.put.bind(database),
    batch: database.batch.bind(database),
    iterator: database.iterator.bind(database),
    close: database.close.bind(database),
  } as D;
}

/** The content at opening is not recorded beside the database: only writes of this process are. */
export const forgetsWhatWasThere: Variant = (options) =>
  new (class extends LevelEngine {
    override confirm(): Promise<void> {
      return Promise.resolve();
    }
  })(options);

/** A restore writes into the directory itself, batch by batch. */
export const restoresInPlace: Variant = (options) =>
  new (class extends LevelEngine {
    override async replace(_: Existing, fill: Fill): Promise<Replacement> {
      const { fileSystem: files, directory } = options;
      for (const name of ['db', 'high-water']) await files?.remove(`${directory}/${name}`);
      await fill(new LevelEngine(options), 0);
      return {};
    }
  })(options);
