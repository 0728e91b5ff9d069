import { join } from 'node:path';
import { requireOptions, someText, StatusError, systemClock } from '../../base/index.js';
import type { DirectoryLock } from '../directory/directory-lock.js';
import { storeClosed } from '../engine/store-closed.js';
import {
  type Checkpoint,
  emptyCheckpoint,
  type Engine,
  type EngineRecord,
  type EngineState,
  type Existing,
  type Fill,
  type Migration,
  type RecordAddress,
  type ReplaceableEngine,
  type Replacement,
  type Reserve,
  type ScanOptions,
} from '../engine/engine.js';
import { damaged, markUnwritable, openingError } from '../directory/database-error.js';
import { type FileSystem, nodeFileSystem } from '../directory/file-system.js';
import { syncNamesAbove } from '../directory/first-start.js';
import { type Database, type DatabaseDriver, levelDriver } from './level-database.js';
import {
  clusterOf,
  decodeMeta,
  encodeMeta,
  type MetaRecord,
  requireKnownVersion,
  schemaVersion,
} from './meta-record.js';
import { copyStore, migrationSteps } from './migration.js';
import { forgetMigration, noteMigration, notedMigration } from './migration-note.js';
import { HighWaterMark, type MarkState } from '../directory/high-water.js';
import { encodeKey, keyBytes, metaKey } from './level-keys.js';
import { OpeningMark } from '../directory/opening-mark.js';
import { closeAll } from '../engine/close-all.js';
import { LogNames } from '../directory/log-names.js';
import { reading, scanLog } from './log-scan.js';
import { replaceStore } from './replace-store.js';
import { databaseName, finishReplacement, markName } from '../directory/replacement.js';
import {
  explainNoRoom,
  lockWithReserve,
  openingBytes,
  ReserveFolder,
} from '../directory/reserve.js';
import { restoreIndex } from '../log/restore.js';
import { SerialWrites } from '../engine/serial-writes.js';
import type { LevelEngineOptions } from './level-engine-options.js';

/** An upper bound of the size of a meta record with its key, in bytes. */
const metaBytes = 1_024;
/** The lock of an engine whose directory is already locked. */
const noLock: DirectoryLock = { release: () => Promise.resolve() };

/** The log on LevelDB. Each append is one atomic write, which is synced before it resolves. */
export class LevelEngine implements ReplaceableEngine {
  readonly reserve: Reserve;
  readonly #options: LevelEngineOptions;
  readonly #files: FileSystem;
  readonly #driver: DatabaseDriver;
  readonly #path: string;
  #lock: DirectoryLock | undefined;
  #open: Database | undefined;
  #identity = { storeId: '', clusterId: '' };
  #highWater: HighWaterMark | undefined;
  readonly #writes = new SerialWrites(() => this.#names?.settle());
  readonly #openingMark: OpeningMark;
  #names: LogNames | undefined;

  /** @throws TypeError without a directory */
  constructor(options: LevelEngineOptions) {
    requireOptions('LevelEngine', options, { directory: someText('the path of its directory') });
    this.#options = options;
    this.#files = options.fileSystem ?? nodeFileSystem;
    this.#driver = options.driver ?? levelDriver;
    this.#openingMark = new OpeningMark(this.#files, options.directory);
    this.#path = join(options.directory, databaseName);
    const isOpen = (): boolean => this.#lock !== undefined;
    this.reserve = new ReserveFolder(this.#files, options.directory, isOpen);
  }

  get location(): string {
    return this.#options.directory;
  }

  get #db(): Database {
    if (!this.#open) throw storeClosed();
    return this.#open;
  }

  async open(newStoreId: () => string, clusterId?: string): Promise<EngineState> {
    const { directory } = this.#options;
    await this.#files.makeDirectory(directory).catch((error: unknown) => {
      throw openingError(this.#path, error);
    });
    this.#lock = await this.#takeLock();
    try {
      await this.reserve.release(openingBytes);
      await finishReplacement(this.#files, directory);
      this.#highWater = this.#markAt(join(directory, markName));
      const mark = await this.#highWater.read();
      // Without CURRENT, LevelDB would create a new database over the existing files.
      if (mark.type !== 'missing' && !(await this.#files.exists(join(this.#path, 'CURRENT'))))
        throw this.#damaged('its CURRENT file is missing');
      await this.#openingMark.set(() => this.#driver.check(this.#path));
      await this.#openDatabase();
      const meta = await this.#loadMeta(newStoreId, clusterId, mark.type !== 'missing');
      this.#identity = { storeId: meta.storeId, clusterId: clusterOf(meta) };
      const highWater = mark.type === 'mark' ? mark.revision : await this.#makeMark(mark, meta);
      const state = { ...this.#identity, checkpoint: meta.checkpoint, highWater };
      const migration =
        meta.schemaVersion === schemaVersion
          ? await notedMigration(this.#files, directory, meta.storeId)
          : await this.#migrate(meta.schemaVersion, state);
      return migration === undefined ? state : { ...state, migration };
    } catch (error) {
      // Report the first error.
      await this.close().catch(() => undefined);
      const reported = error instanceof StatusError ? error : openingError(this.#path, error);
      throw await explainNoRoom(reported, this.#files, directory);
    }
  }

  async #takeLock(): Promise<DirectoryLock> {
    const { directory } = this.#options;
    try {
      return await lockWithReserve(() => this.#driver.lock(directory), this.reserve);
    } catch (error) {
      throw await explainNoRoom(error, this.#files, directory);
    }
  }

  async #openDatabase(): Promise<void> {
    const writeBufferBytes = this.#options.writeBufferBytes ?? 16 * 1024 * 1024;
    await this.#files.makeDirectory(this.#path);
    this.#open = await this.#driver.open(this.#path, writeBufferBytes);
    this.#writes.restart();
    // LevelDB syncs the files that it creates, but not all of their names.
    await this.#files.syncDirectory(this.#path);
    this.#names = new LogNames(this.#files, this.#path, writeBufferBytes);
    await this.#names.open();
  }

  /** Copies a log of an earlier version, then migrates it. */
  async #migrate(from: number, state: EngineState): Promise<Migration> {
    const { directory, copiedBeforeMigration: alsoCopied = [] } = this.#options;
    // Check the log first: if it is damaged, an earlier migration's copy, which may be intact, must not be replaced.
    await restoreIndex(this, state);
    await this.#open?.close();
    this.#open = undefined;
    const files = this.#files;
    const { storeId, checkpoint } = state;
    const copied = await copyStore({ files, directory, version: from, alsoCopied });
    // Noted before the first step: after a kill that follows the last step nothing else records the migration.
    const migration = await noteMigration(files, directory, storeId, copied);
    await this.#openDatabase();
    for (let version = from; version < schemaVersion; version += 1) {
      const superseded = await migrationSteps[version]?.removed(this, state);
      const meta = { schemaVersion: version + 1, ...this.#identity, checkpoint };
      await this.#saveMeta(meta, superseded);
    }
    return migration;
  }

  async #loadMeta(
    newStoreId: () => string,
    clusterId: string | undefined,
    hasMark: boolean,
  ): Promise<MetaRecord> {
    const stored = await this.#db.get(metaKey);
    if (stored === undefined) {
      if (hasMark) throw this.#damaged('its identity record is missing');
      const storeId = newStoreId();
      const identity = { storeId, clusterId: clusterId ?? storeId };
      const meta = { schemaVersion, ...identity, checkpoint: emptyCheckpoint };
      await this.#saveMeta(meta);
      return meta;
    }
    const meta = decodeMeta(stored);
    if (!meta) throw this.#damaged('its identity record has a wrong checksum');
    requireKnownVersion(this.#options.directory, meta.schemaVersion);
    return meta;
  }

  /** Writes the meta record and removes records, in one batch. */
  #saveMeta(meta: MetaRecord, superseded: readonly RecordAddress[] = []): Promise<void> {
    return this.#writes.run(() => {
      const batch = this.#db.batch().put(metaKey, encodeMeta(meta));
      for (const address of superseded) batch.del(encodeKey(address));
      this.#names?.note(metaBytes);
      for (const _ of superseded) this.#names?.note(keyBytes);
      return batch.write('synced');
    });
  }

  #markAt(path: string): HighWaterMark {
    return new HighWaterMark(this.#files, path, this.#options.clock ?? systemClock);
  }

  /**
   * Creates the mark with a new database before the first write, once the names of all its parent directories are
   * durable. Later a missing or illegible mark is damage, unless nothing was ever written: then a first start was
   * interrupted.
   * @throws StatusError DataLoss for a damaged mark
   */
  async #makeMark(found: MarkState, { checkpoint }: MetaRecord): Promise<number> {
    const wrong = found.type === 'missing' ? 'is missing' : 'holds no revision';
    const [first] = await this.#firstRecords();
    if (first || checkpoint.revision > 0) throw this.#damaged(`its high-water file ${wrong}`);
    const { directory } = this.#options;
    await this.#files.syncDirectory(directory);
    await syncNamesAbove(this.#files, directory);
    await this.#highWater?.create();
    return 0;
  }

  async #firstRecords(): Promise<readonly EngineRecord[]> {
    for await (const chunk of this.scan(0)) return chunk;
    return [];
  }

  #damaged(detail: string): StatusError {
    return damaged(this.#path, detail);
  }

  scan(revision: number, options: ScanOptions = {}): AsyncIterable<readonly EngineRecord[]> {
    const ended = (): Promise<void> => this.#openingMark.remove();
    return scanLog({ database: () => this.#db, path: this.#path, ended }, revision, options);
  }

  async append(records: readonly EngineRecord[]): Promise<void> {
    const durability = this.#options.unsafeNoSync ? 'unsynced' : 'synced';
    const last = records.at(-1);
    await this.#writes.run(() => {
      for (const { bytes } of records) this.#names?.note(keyBytes + bytes.length);
      // A single record needs no batch, which shortens the latency of a lone writer.
      if (last && records.length === 1)
        return this.#db.put(encodeKey(last), last.bytes, durability);
      const batch = this.#db.batch();
      for (const record of records) batch.put(encodeKey(record), record.bytes);
      return batch.write(durability);
    });
    if (last) this.#highWater?.note(last.revision);
  }

  async get(address: RecordAddress): Promise<Buffer | undefined> {
    return await reading(this.#path, this.#db.get(encodeKey(address)));
  }

  saveCheckpoint(checkpoint: Checkpoint, superseded: readonly RecordAddress[] = []): Promise<void> {
    return this.#saveMeta({ schemaVersion, ...this.#identity, checkpoint }, superseded);
  }

  async confirm(revision: number): Promise<void> {
    try {
      await this.#highWater?.confirm(revision);
    } catch (error) {
      throw markUnwritable(join(this.#options.directory, markName), error);
    }
  }

  replace(existing: Existing, fill: Fill): Promise<Replacement> {
    const { directory } = this.#options;
    const lock = (): Promise<DirectoryLock> => this.#takeLock();
    const held = { ...this.#driver, lock: () => Promise.resolve(noLock) };
    const engineAt = (path: string): Engine =>
      new LevelEngine({ ...this.#options, driver: held, directory: path });
    return replaceStore({ files: this.#files, lock, directory, existing, engineAt }, fill);
  }

  migrationReported(): Promise<void> {
    return forgetMigration(this.#files, this.#options.directory);
  }

  async freeBytes(): Promise<number | undefined> {
    return this.#files.freeBytes(this.#options.directory);
  }

  /** Closes the mark, the database and the lock, each even if another fails. Rejects with the first error. */
  async close(): Promise<void> {
    const highWater = this.#highWater;
    const database = this.#open;
    const lock = this.#lock;
    this.#highWater = undefined;
    this.#open = undefined;
    this.#lock = undefined;
    await closeAll([
      () => this.#openingMark.remove(),
      () => highWater?.close(),
      () => database?.close(),
      () => lock?.release(),
    ]);
  }
}
