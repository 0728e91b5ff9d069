import {
  type Clock,
  limits,
  type Logger,
  type Random,
  silentLogger,
  type StatusError,
  systemClock,
  systemRandom,
} from '../base/index.js';
import type { ApiObject, Kind, ListWatch, ObjectKey, WatchBatch } from '../object/index.js';
import { CommitPipeline } from './log/commit-pipeline.js';
import type { Engine, EngineState, Migration } from './engine/engine.js';
import { Expiries, expiredDeletion } from './writes/expiries.js';
import type { ObjectIndex } from './index/object-index.js';
import { KeptIndexes } from './index/kept-indexes.js';
import { LogHistory } from './log/log-history.js';
import { PagedLists } from './index/paged-lists.js';
import { RecentChanges, type Touch } from './writes/recent-changes.js';
import type { EncodedRecord } from './record/record-codec.js';
import type { Expiry, Restored } from './log/restore.js';
import { reviveEngine } from './log/revival.js';
import type { Change } from './index/selection.js';
import { SpaceGuard } from './writes/space-guard.js';
import type { StoreOptions } from './contract/store-options.js';
import type {
  BackupReport,
  EmbeddedStore,
  StoreHealth,
  VerifyReport,
} from './contract/object-store.js';
import type { Operation, OperationResult } from './contract/operations.js';
import type { ListOptions, ListResult, WatchOptions } from './contract/reads.js';
import { storeClosed } from './engine/store-closed.js';
import { StoreMaintenance } from './store-maintenance.js';
import { StoreReads } from './store-reads.js';
import { changesOf } from './writes/replay.js';
import { TransactionalWrites } from './writes/transactional-writes.js';
import { WatchHub } from './watch/watch-hub.js';
import type { Published } from './watch/watch-ring.js';
import { notePending, TransactionStaging } from './writes/transaction-staging.js';
import { commitOf, type WriteCommit, type WriteSet } from './writes/write-set.js';

/** The object store over an open log engine; created by `openStore`. */
export class LogStore extends TransactionalWrites implements EmbeddedStore {
  readonly storeId: string;
  readonly clusterId: string;
  readonly migration?: Migration;
  readonly #options: StoreOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #engine: Engine;
  readonly #staging: TransactionStaging;
  readonly #pipeline: CommitPipeline<WriteCommit>;
  readonly #hub: WatchHub;
  readonly #history: LogHistory;
  readonly #maintenance: StoreMaintenance;
  readonly #index: ObjectIndex;
  readonly #pages: PagedLists;
  readonly #reads: StoreReads;
  readonly #kept = new KeptIndexes();
  readonly #recent: RecentChanges;
  readonly #expiries: Expiries;
  readonly #space: SpaceGuard;
  readonly #closing = new AbortController();
  /** Last assigned revision; visible revision <= durable revision <= assigned revision. */
  #assigned: number;
  #health: StoreHealth = { state: 'serving' };

  constructor(options: StoreOptions, state: EngineState, restored: Restored) {
    super();
    this.#options = options;
    this.storeId = state.storeId;
    this.clusterId = state.clusterId;
    if (state.migration) this.migration = state.migration;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#logger = options.logger ?? silentLogger;
    const engine = (this.#engine = options.engine);
    this.#index = restored.index;
    this.#assigned = restored.revision;
    this.#pages = new PagedLists(this.#clock, this.#random);
    this.#recent = new RecentChanges(restored.revision);
    this.#hub = new WatchHub({
      engine,
      clock: this.#clock,
      logger: this.#logger,
      revision: restored.revision,
      compacted: state.checkpoint.revision,
    });
    this.#reads = new StoreReads({
      storeId: state.storeId,
      index: restored.index,
      kept: this.#kept,
      pages: this.#pages,
      hub: this.#hub,
      clock: this.#clock,
      closing: this.#closing.signal,
    });
    this.#staging = new TransactionStaging({
      clock: this.#clock,
      random: this.#random,
      index: restored.index,
      kept: this.#kept,
      recent: this.#recent,
      assigned: () => this.#assigned,
      losses: () => this.#pipeline.failures,
      ready: () => this.#space.measured(),
      requireOpen: () => {
        if (this.#health.state === 'closed') throw storeClosed();
        this.#pipeline.requireRoom();
      },
    });
    this.#pipeline = new CommitPipeline<WriteCommit>({
      clock: this.#clock,
      append: (records) => this.#append(records),
      publish: (batch) => this.#publish(batch),
      onFailure: (error) => this.#poisoned(error),
    });
    this.#history = new LogHistory({
      engine,
      clock: this.#clock,
      bounds: options,
      checkpoint: state.checkpoint,
      bytes: restored.historyBytes,
      garbage: restored.garbage,
      onCompacting: (revision) => this.#hub.setCompacted(revision),
      onFailure: (cause) => this.#pipeline.fail(cause),
    });
    this.#maintenance = new StoreMaintenance({
      engine,
      clock: this.#clock,
      history: this.#history,
      index: restored.index,
      hub: this.#hub,
      health: () => this.#health,
    });
    const { freeBytesFloor: floor = limits.freeBytesFloor, reserveBytes = 0 } = options;
    const ports = { engine, clock: this.#clock, logger: this.#logger };
    this.#space = new SpaceGuard({ ...ports, floor, reserveBytes });
    this.#expiries = new Expiries(this.#clock, (due) => this.#expire(due), restored.expiries);
  }

  get revision(): number {
    return this.#hub.revision;
  }

  health(): StoreHealth {
    if (this.#health.state !== 'serving') return this.#health;
    const error = this.#space.error;
    return error ? { state: 'full', error } : this.#health;
  }

  get<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): Promise<T | undefined> {
    return this.#reads.get(kind, key);
  }

  list<T extends ApiObject>(kind: Kind<T>, options: ListOptions = {}): Promise<ListResult<T>> {
    return this.#reads.list(kind, options, this.#assigned);
  }

  watch<T extends ApiObject>(kind: Kind<T>, options: WatchOptions): AsyncIterable<WatchBatch<T>> {
    return this.#reads.watch(kind, options);
  }

  source<T extends ApiObject>(kind: Kind<T>): ListWatch<T> {
    return this.#reads.source(kind);
  }

  transact(operations: readonly Operation[]): Promise<readonly OperationResult[]> {
    return new Promise((resolve, reject) => {
      const accept = (set: WriteSet): void => {
        this.#accept(set, operations);
        this.#pipeline.enqueue(commitOf(set, () => resolve(set.results), reject));
      };
      this.#staging.add({ operations, accept, reject });
    });
  }

  #accept(set: WriteSet, operations: readonly Operation[]): void {
    this.#space.accept(set, operations);
    if (set.changes.length > 0) this.#assigned = set.revision;
    notePending(set, this.#index, this.#recent);
  }

  #append(records: readonly EncodedRecord[]): Promise<void> {
    const room = this.#space.makeRoom(records);
    return room ? room.then(() => this.#engine.append(records)) : this.#engine.append(records);
  }

  #publish(batch: readonly WriteSet[]): void {
    let bytes = 0;
    const published: Published[] = [];
    for (const { revision, changes, touches } of batch) {
      // Only the fields that watchers need: they are kept for long, and a write set also has encoded records.
      if (changes.length > 0) published.push({ revision, changes });
      for (let at = 0; at < changes.length; at += 1) {
        const change = changes[at];
        if (!change) continue;
        this.#show(change, touches[at]);
        bytes += change.size;
      }
    }
    this.#history.add(bytes);
    this.#space.noteWritten(bytes);
    this.#hub.publish(published);
  }

  /** Makes a durable change visible to reads; `touch` is absent for changes that were read back from the log. */
  #show({ kind, type, entry, before }: Change, touch: Touch | undefined): void {
    const { key } = entry;
    const table = this.#index.table(kind);
    const now = type === 'DELETED' ? undefined : entry;
    if (now) table.set(now);
    else table.delete(key);
    if (table.pending.get(key)?.entry === entry) table.pending.delete(key);
    this.#kept.publish(kind, key, now, touch?.indexed);
    const expiresAt = now?.object.metadata.expiresAt;
    this.#expiries.note(kind, key, expiresAt ? Date.parse(expiresAt) : undefined);
    if (before) this.#reads.noteReplaced(kind, before.size);
  }

  async #expire(due: Expiry): Promise<void> {
    const deletion = expiredDeletion(this.#index.get(due.kind, due.key)?.object, due);
    // Every refusal is retried, even a conflict: the competing write may still fail.
    if (deletion) await this.transact([deletion]);
  }

  #poisoned(error: StatusError): void {
    this.#health = { state: 'poisoned', error };
    this.#logger.error('store poisoned: writes are refused, reads continue', {
      error: error.message,
    });
    void this.#maintenance.queued(() => this.#revive());
  }

  async #revive(): Promise<void> {
    // Commits in flight finish first: they may still become visible.
    await this.#pipeline.drain();
    const revived = await reviveEngine({
      engine: this.#engine,
      clock: this.#clock,
      random: this.#random,
      logger: this.#logger,
      storeId: this.storeId,
      revision: this.revision,
      checkpoints: this.#history.possibleMarks,
      freeBytesFloor: this.#options.freeBytesFloor ?? limits.freeBytesFloor,
      signal: this.#closing.signal,
    });
    if (!revived || this.#health.state === 'closed') return;
    this.#history.settle(revived.checkpoint);
    this.#index.clearPending();
    this.#space.clearPending();
    this.#publish(changesOf(revived.survived, this.#index));
    this.#assigned = this.revision;
    this.#recent.reset(this.revision);
    this.#kept.reset(this.revision);
    this.#pipeline.revive();
    this.#health = { state: 'serving' };
    this.#logger.info('store reopened: writes are accepted again', { revision: this.revision });
  }

  compact(): Promise<void> {
    return this.#maintenance.compact(this.#closing.signal);
  }

  backup(sink: (bytes: Buffer) => Promise<void>): Promise<BackupReport> {
    return this.#maintenance.backup(this, sink);
  }

  verify(): Promise<VerifyReport> {
    return this.#maintenance.verify();
  }

  async close(): Promise<void> {
    if (this.#health.state === 'closed') return;
    this.#health = { state: 'closed' };
    this.#closing.abort();
    this.#expiries.close();
    this.#hub.wakeAll();
    await this.#staging.idle();
    await this.#pipeline.drain();
    await this.#maintenance.idle();
    await this.#space.close();
    if (this.migration) await this.#engine.migrationReported?.().catch(() => undefined); // noted again if that fails
    await this.#engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
