import {
  type Clock,
  limits,
  linkSignals,
  type Logger,
  type Random,
  silentLogger,
  StatusError,
  systemClock,
  systemRandom,
} from '../base/index.js';
import {
  type AnyKind,
  type ApiObject,
  demandNamespace,
  type Kind,
  type ListWatch,
  namespaceIndex,
  type ObjectKey,
  revisionIn,
  type StoredBatch,
  type WatchBatch,
} from '../object/index.js';
import { writeBackup } from './backup/backup.js';
import { CommitPipeline } from './log/commit-pipeline.js';
import type { Engine, EngineState, Migration } from './engine/engine.js';
import { Expiries } from './writes/expiries.js';
import { initialBatches } from './watch/initial-events.js';
import type { LazyObject } from './record/lazy-object.js';
import { KeptIndexes } from './index/kept-indexes.js';
import { demandIndexSelection } from './writes/kind-checks.js';
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
  ListOptions,
  ListResult,
  Operation,
  OperationResult,
  StoreHealth,
  VerifyReport,
  WatchOptions,
} from './contract/object-store.js';
import { changesOf } from './writes/replay.js';
import { TransactionalWrites } from './writes/transactional-writes.js';
import { verifyLog } from './log/verify.js';
import { WatchHub } from './watch/watch-hub.js';
import type { Published } from './watch/watch-ring.js';
import {
  commitOf,
  demandOperations,
  stageWrites,
  type WriteCommit,
  type WriteSet,
} from './writes/write-set.js';

function unavailable(reason: string, message: string): StatusError {
  return new StatusError({ code: 'Unavailable', reason, message });
}

/** The object store over a log engine that is open; `openStore` makes one. */
export class LogStore extends TransactionalWrites implements EmbeddedStore {
  readonly storeId: string;
  readonly clusterId: string;
  readonly migration?: Migration;
  readonly #options: StoreOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #engine: Engine;
  readonly #pipeline: CommitPipeline<WriteCommit>;
  readonly #hub: WatchHub;
  readonly #history: LogHistory;
  readonly #restored: Restored;
  readonly #pages: PagedLists;
  readonly #kept = new KeptIndexes();
  readonly #recent: RecentChanges;
  readonly #expiries: Expiries;
  readonly #space: SpaceGuard;
  readonly #closing = new AbortController();
  /** Last assigned revision; visible revision <= durable revision <= assigned revision. */
  #assigned: number;
  #health: StoreHealth = { state: 'serving' };
  /** Work beside the commits that must not overlap: compaction, verification, revival. */
  #background: Promise<unknown> = Promise.resolve();

  constructor(options: StoreOptions, state: EngineState, restored: Restored) {
    super();
    const { engine } = options;
    this.#options = options;
    this.storeId = state.storeId;
    this.clusterId = state.clusterId;
    if (state.migration) this.migration = state.migration;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#logger = options.logger ?? silentLogger;
    this.#engine = engine;
    this.#restored = restored;
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
    const { freeBytesFloor: floor = limits.freeBytesFloor, reserveBytes = 0 } = options;
    const ports = { engine, clock: this.#clock, logger: this.#logger };
    this.#space = new SpaceGuard({ ...ports, floor, reserveBytes });
    this.#expiries = new Expiries(this.#clock, (due) => this.#expire(due), restored.expiries);
  }

  get #index(): Restored['index'] {
    return this.#restored.index;
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
    return new Promise((resolve) => resolve(this.#index.lookup(kind, key)));
  }

  async list<T extends ApiObject>(
    kind: Kind<T>,
    options: ListOptions = {},
  ): Promise<ListResult<T>> {
    demandIndexSelection(kind, options);
    demandNamespace(kind, options.namespace);
    this.#kept.learn(kind, this.#assigned);
    const { pageToken, namespace, index, value } = options;
    if (pageToken) return this.#pages.next<T>(pageToken, kind.kind, options, options);
    const byNamespace = index === namespaceIndex ? value : namespace;
    const under =
      index === undefined || index === namespaceIndex
        ? undefined
        : await this.#kept.under(kind, index, value, this.#index, this.#clock);
    const chunks = under ? [under()] : this.#index.snapshot(kind.kind, byNamespace);
    const snapshot = { kind: kind.kind, revision: this.revision, chunks };
    return this.#pages.first<T>(snapshot, options, options);
  }

  async *watch<T extends ApiObject>(
    kind: Kind<T>,
    options: WatchOptions,
  ): AsyncIterable<WatchBatch<T>> {
    demandNamespace(kind, options.namespace);
    using link = linkSignals(options.signal, this.#closing.signal);
    const { signal } = link;
    let fromRevision: number;
    if ('fromRevision' in options) {
      ({ fromRevision } = options);
    } else if ('cursor' in options) {
      fromRevision = revisionIn(this.storeId, options.cursor);
    } else {
      fromRevision = this.revision;
      const chunks = this.#index.snapshot(kind.kind, options.namespace);
      const batches = initialBatches(chunks, options, fromRevision, this.#clock);
      for await (const batch of batches) {
        if (signal.aborted) return;
        yield batch as WatchBatch<T>;
      }
    }
    const batches = this.#hub.watch(kind.kind, { ...options, fromRevision, signal });
    yield* batches as AsyncIterable<WatchBatch<T>>;
  }

  source<T extends ApiObject>(kind: Kind<T>): ListWatch<T> {
    return {
      list: () => {
        // Not flat(): it takes many times as long, in one piece.
        const chunks = this.#index.snapshot(kind.kind);
        const items = ([] as LazyObject[]).concat(...chunks) as LazyObject<T>[];
        return Promise.resolve({ items, revision: this.revision });
      },
      watch: async (revision, sink, signal, cursor) => {
        const from = cursor === undefined ? revision : revisionIn(this.storeId, cursor);
        using link = linkSignals(signal, this.#closing.signal);
        const told = sink as (batch: StoredBatch<ApiObject>) => void;
        await this.#hub.subscribe(kind.kind, from, told, link.signal);
      },
      currentRevision: () => this.revision,
    };
  }

  transact(operations: readonly Operation[]): Promise<readonly OperationResult[]> {
    return new Promise((resolve, reject) => {
      const set = this.#stage(operations);
      const resolved = (): void => resolve(set.results);
      this.#pipeline.enqueue(commitOf(set, resolved, reject));
    });
  }

  #stage(operations: readonly Operation[]): WriteSet {
    if (this.#health.state === 'closed') throw unavailable('StoreClosed', 'the store is closed');
    this.#pipeline.demandRoom();
    demandOperations(operations);
    const set = stageWrites(operations, {
      index: this.#index,
      kept: this.#kept,
      recent: this.#recent,
      random: this.#random,
      revision: this.#assigned + 1,
      at: this.#clock.now(),
    });
    if (this.#space.error) this.#space.demandRoom(set, operations);
    if (set.changes.length > 0) this.#assigned = set.revision;
    const { changes, touches } = set;
    for (let at = 0; at < changes.length; at += 1) {
      const change = changes[at];
      const touch = touches[at];
      if (!change || !touch) continue;
      const { kind, type, entry } = change;
      this.#index.table(kind).pending.set(entry.key, { entry, exists: type !== 'DELETED' });
      this.#recent.note(kind, entry.object.namespace, touch, set.revision);
    }
    return set;
  }

  #append(records: readonly EncodedRecord[]): Promise<void> {
    const room = this.#space.makeRoom(records);
    return room ? room.then(() => this.#engine.append(records)) : this.#engine.append(records);
  }

  #publish(batch: readonly WriteSet[]): void {
    let bytes = 0;
    const published: Published[] = [];
    for (const { revision, changes, touches } of batch) {
      // No more than watchers need: they keep it long, and a write set holds its encoded records.
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

  /** Makes a durable change visible to reads; `touch` is absent for what was read back from the log. */
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
    if (before) this.#pages.noteReplaced(kind, before.size);
  }

  async #expire({ kind, key, at }: Expiry): Promise<void> {
    const entry = this.#index.get(kind, key);
    const { resourceVersion, expiresAt } = entry?.object.metadata ?? {};
    if (!entry || expiresAt === undefined || Date.parse(expiresAt) > at) return;
    const { namespace, name } = entry.object;
    const objectKey = namespace === undefined ? { name } : { namespace, name };
    const precondition = { resourceVersion: resourceVersion ?? '' };
    // Deleting needs the kind's name only.
    const operation = {
      op: 'deleteByName',
      kind: { kind } as AnyKind,
      key: objectKey,
      precondition,
    };
    // Any refusal is tried again, also a conflict: the write that it lost to may fail in the end.
    await this.transact([operation as Operation]);
  }

  #poisoned(error: StatusError): void {
    this.#health = { state: 'poisoned', error };
    this.#logger.error('store poisoned: writes are refused, reads go on', { error: error.message });
    void this.#queued(() => this.#revive());
  }

  async #revive(): Promise<void> {
    // What was in flight ends first: it may still become visible.
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
    this.#publish(changesOf(revived.survived, this.#index));
    this.#assigned = this.revision;
    this.#recent.reset(this.revision);
    this.#kept.reset(this.revision);
    this.#pipeline.revive();
    this.#health = { state: 'serving' };
    this.#logger.info('store reopened: writes are taken again', { revision: this.revision });
  }

  /** Runs background work after what runs already; not while the engine may be closed. */
  #exclusively<R>(work: () => Promise<R>): Promise<R> {
    if (this.#health.state === 'closed')
      return Promise.reject(unavailable('StoreClosed', 'the store is closed'));
    if (this.#health.state === 'poisoned') return Promise.reject(this.#health.error);
    return this.#queued(work);
  }

  #queued<R>(work: () => Promise<R>): Promise<R> {
    const result = this.#background.then(work);
    this.#background = result.catch(() => undefined);
    return result;
  }

  compact(): Promise<void> {
    return this.#exclusively(() => this.#history.compact(this.revision, this.#closing.signal));
  }

  backup(sink: (bytes: Buffer) => Promise<void>): Promise<BackupReport> {
    const { storeId, clusterId, revision } = this;
    const kinds = this.#index.snapshotAll();
    return writeBackup({ storeId, clusterId, revision, kinds, clock: this.#clock }, sink);
  }

  verify(): Promise<VerifyReport> {
    return this.#exclusively(() =>
      verifyLog(
        this.#engine,
        {
          checkpoint: this.#history.checkpoint,
          revision: this.revision,
          kinds: this.#index.snapshotAll(),
        },
        this.#clock,
      ),
    );
  }

  async close(): Promise<void> {
    if (this.#health.state === 'closed') return;
    this.#health = { state: 'closed' };
    this.#closing.abort();
    this.#expiries.close();
    this.#hub.wakeAll();
    await this.#pipeline.drain();
    await this.#background;
    await this.#space.close();
    // Where the note of it stays, it is told once more.
    if (this.migration) await this.#engine.migrationTold?.().catch(() => undefined);
    await this.#engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
