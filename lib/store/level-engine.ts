import { join } from 'node:path';
import { Level } from 'level';
import { type Clock, StatusError, systemClock } from '../base/index.js';
import { type DirectoryLock, lockDirectory } from './directory-lock.js';
import type { Engine, EngineState, LogRecord, NewRecord, RecordAddress } from './engine.js';
import { HighWaterMark } from './high-water.js';
import { decodeRecord, encodeKey, encodeValue } from './record-codec.js';

const schemaVersion = 1;
const metaKey = Buffer.from('m/state');
const logEnd = Buffer.from([0x73]);
/** Records read at a time: large enough for the native side, small enough to yield often. */
const chunkRecords = 1_000;

interface Meta extends Omit<EngineState, 'highWater'> {
  readonly schemaVersion: number;
}

/** Options of {@link LevelEngine}. */
export interface LevelEngineOptions {
  /** Data directory; the database is its `db` folder. */
  readonly directory: string;
  /** Bytes LevelDB gathers in memory before a file; default 16 MiB (research/performance.md section 2). */
  readonly writeBufferBytes?: number;
  readonly clock?: Clock;
}

/** The log on LevelDB: every append is one batch, synced before it resolves. */
export class LevelEngine implements Engine {
  readonly #options: LevelEngineOptions;
  #lock: DirectoryLock | undefined;
  #open: Level<Buffer, Buffer> | undefined;
  #state: EngineState | undefined;
  #highWater: HighWaterMark | undefined;

  constructor(options: LevelEngineOptions) {
    this.#options = options;
  }

  get #db(): Level<Buffer, Buffer> {
    if (!this.#open)
      throw new StatusError({
        code: 'Unavailable',
        reason: 'StoreClosed',
        message: 'the store is closed',
      });
    return this.#open;
  }

  async open(newStoreId: () => string): Promise<EngineState> {
    this.#lock = await lockDirectory(this.#options.directory);
    try {
      const db = new Level<Buffer, Buffer>(join(this.#options.directory, 'db'), {
        keyEncoding: 'buffer',
        valueEncoding: 'buffer',
        writeBufferSize: this.#options.writeBufferBytes ?? 16 * 1024 * 1024,
      });
      await db.open();
      this.#open = db;
      this.#highWater = new HighWaterMark(
        join(this.#options.directory, 'high-water'),
        this.#options.clock ?? systemClock,
      );
      this.#state = await this.#loadState(newStoreId);
      return this.#state;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #loadState(newStoreId: () => string): Promise<EngineState> {
    const stored = (await this.#db.get(metaKey)) as Buffer | undefined;
    const highWater = (await this.#highWater?.read()) ?? 0;
    if (stored === undefined) {
      const state = { storeId: newStoreId(), compactedRevision: 0, highWater };
      await this.#saveState(state);
      return state;
    }
    const meta = JSON.parse(stored.toString()) as Meta;
    if (meta.schemaVersion !== schemaVersion)
      throw new StatusError({
        code: 'FailedPrecondition',
        reason: 'SchemaVersion',
        message: `the database has schema version ${meta.schemaVersion}, this release reads ${schemaVersion}; use the release that wrote it`,
      });
    return { storeId: meta.storeId, compactedRevision: meta.compactedRevision, highWater };
  }

  #saveState(state: EngineState): Promise<void> {
    const { storeId, compactedRevision } = state;
    const meta: Meta = { schemaVersion, storeId, compactedRevision };
    // `sync` is LevelDB's own option, which the universal package's types leave out.
    const batch = this.#db.batch().put(metaKey, Buffer.from(JSON.stringify(meta)));
    return batch.write({ sync: true } as object);
  }

  async *scan(): AsyncIterable<LogRecord> {
    yield* this.#range(encodeKey({ revision: 0, index: 0 }));
  }

  async *#range(from: Buffer): AsyncIterable<LogRecord> {
    const iterator = this.#db.iterator({ gte: from, lt: logEnd });
    try {
      for (;;) {
        const entries = await iterator.nextv(chunkRecords);
        if (entries.length === 0) return;
        for (const [key, value] of entries) yield decodeRecord(key, value);
      }
    } finally {
      await iterator.close();
    }
  }

  async append(records: readonly NewRecord[]): Promise<void> {
    const batch = this.#db.batch();
    for (const record of records) {
      const key = encodeKey(record);
      batch.put(key, encodeValue(key, record));
    }
    await batch.write({ sync: true } as object);
    const last = records.at(-1);
    if (last) this.#highWater?.note(last.revision);
  }

  async read(revision: number, limit: number): Promise<readonly LogRecord[]> {
    const records: LogRecord[] = [];
    for await (const record of this.#range(encodeKey({ revision: revision + 1, index: 0 }))) {
      if (records.length >= limit && record.index === 0) break;
      records.push(record);
    }
    return records;
  }

  async markCompacted(revision: number): Promise<void> {
    if (!this.#state) return;
    this.#state = { ...this.#state, compactedRevision: revision };
    await this.#saveState(this.#state);
  }

  async drop(addresses: readonly RecordAddress[]): Promise<void> {
    const batch = this.#db.batch();
    for (const address of addresses) batch.del(encodeKey(address));
    await batch.write();
  }

  async close(): Promise<void> {
    await this.#highWater?.close();
    this.#highWater = undefined;
    await this.#open?.close();
    this.#open = undefined;
    await this.#lock?.release();
    this.#lock = undefined;
  }
}
