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
  deepFreeze,
  keyOf,
  keyString,
  type Kind,
  type ListWatch,
  type NewObject,
  type ObjectKey,
  type WatchBatch,
  type WatchEvent,
} from '../object/index.js';
import { CommitPipeline } from './commit-pipeline.js';
import { compactLog } from './compaction.js';
import type { Engine, NewRecord } from './engine.js';
import { type ObjectIndex } from './object-index.js';
import { type Applied, applyOperation, keyOfOperation } from './operations.js';
import { PagedLists } from './paged-lists.js';
import { restoreIndex } from './restore.js';
import type {
  ListOptions,
  ListResult,
  ObjectStore,
  Operation,
  OperationResult,
  Precondition,
  StoreHealth,
  WatchOptions,
} from './store.js';
import { type Change, WatchHub } from './watch-hub.js';

/** Ports and bounds of a store. */
export interface StoreOptions {
  readonly engine: Engine;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  /** Events of history to keep; default `limits.historyEvents`. */
  readonly historyEvents?: number;
  /** Age below which history is kept however long it is; default `limits.historyAgeMs`. */
  readonly historyAgeMs?: number;
}

interface Staged {
  readonly kind: string;
  readonly key: string;
  readonly before: ApiObject | undefined;
  readonly after: Applied;
}

/** The object store over a log engine. Open it with {@link openStore}. */
class LogStore implements ObjectStore {
  readonly storeId: string;
  readonly #options: StoreOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #engine: Engine;
  readonly #pipeline: CommitPipeline;
  readonly #hub: WatchHub;
  /** What readers see: durable. */
  readonly #visible: ObjectIndex;
  /** Writes on their way to the disk by kind and key; conflicts are judged against these. */
  readonly #pending = new Map<string, Applied & { readonly revision: number }>();
  readonly #pages: PagedLists;
  readonly #closing = new AbortController();
  /** Last assigned revision; visible revision <= durable revision <= assigned revision. */
  #assigned: number;
  #compacted: number;
  #health: StoreHealth = { state: 'serving' };

  constructor(
    options: StoreOptions,
    storeId: string,
    index: ObjectIndex,
    revision: number,
    compacted: number,
  ) {
    this.#options = options;
    this.storeId = storeId;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#engine = options.engine;
    this.#visible = index;
    this.#assigned = revision;
    this.#compacted = compacted;
    this.#pages = new PagedLists(this.#clock, this.#random);
    const logger = options.logger ?? silentLogger;
    this.#hub = new WatchHub(options.engine, this.#clock, logger, revision, compacted);
    this.#pipeline = new CommitPipeline(
      (records) => this.#engine.append(records),
      (error) => {
        this.#health = { state: 'poisoned', error };
        logger.error('store poisoned: writes are refused, reads go on', { error: error.message });
      },
    );
  }

  get revision(): number {
    return this.#hub.revision;
  }

  health(): StoreHealth {
    return this.#health;
  }

  get<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): Promise<T | undefined> {
    return Promise.resolve(this.#visible.get(kind.kind, keyString(key)) as T | undefined);
  }

  list<T extends ApiObject>(kind: Kind<T>, options: ListOptions = {}): Promise<ListResult<T>> {
    // Promise.resolve().then: a bad page token rejects rather than throws.
    return Promise.resolve().then(() => {
      const { limit, pageToken } = options;
      if (pageToken) return this.#pages.next<T>(pageToken, kind.kind, limit);
      let items = this.#visible.list(kind.kind, options.namespace);
      const { labels } = options;
      if (labels) items = items.filter((object) => labels(object.labels));
      return this.#pages.first<T>(items as T[], this.revision, kind.kind, limit);
    });
  }

  async *watch<T extends ApiObject>(
    kind: Kind<T>,
    options: WatchOptions,
  ): AsyncIterable<WatchBatch<T>> {
    using link = linkSignals(options.signal, this.#closing.signal);
    const batches = this.#hub.watch(kind.kind, { ...options, signal: link.signal });
    yield* batches as AsyncIterable<WatchBatch<T>>;
  }

  source<T extends ApiObject>(kind: Kind<T>): ListWatch<T> {
    return {
      list: () => this.list(kind),
      watch: async (revision, sink, signal) => {
        using link = linkSignals(signal, this.#closing.signal);
        const told = sink as (batch: WatchBatch<ApiObject>) => void;
        await this.#hub.subscribe(kind.kind, revision, told, link.signal);
      },
    };
  }

  async create<T extends ApiObject>(kind: Kind<T>, object: NewObject<T>): Promise<T> {
    const operation = { op: 'create', kind: kind as AnyKind, object } as const;
    return this.#single<T>(operation as Operation);
  }

  async update<T extends ApiObject>(
    kind: Kind<T>,
    object: T,
    precondition?: Precondition,
  ): Promise<T> {
    return this.#single<T>({
      op: 'update',
      kind: kind,
      object,
      ...(precondition ? { precondition } : {}),
    });
  }

  async updateStatus<T extends ApiObject>(
    kind: Kind<T>,
    key: ObjectKey,
    status: Partial<T>,
    precondition?: Precondition,
  ): Promise<T> {
    return this.#single<T>({
      op: 'updateStatus',
      kind: kind,
      key,
      status,
      ...(precondition ? { precondition } : {}),
    });
  }

  async delete<T extends ApiObject>(
    kind: Kind<T>,
    key: ObjectKey,
    precondition?: Precondition,
  ): Promise<T> {
    return this.#single<T>({
      op: 'delete',
      kind: kind,
      key,
      ...(precondition ? { precondition } : {}),
    });
  }

  async #single<T extends ApiObject>(operation: Operation): Promise<T> {
    const [result] = await this.transact([operation]);
    return result?.object as T;
  }

  async transact(operations: readonly Operation[]): Promise<readonly OperationResult[]> {
    this.#demandWritable();
    if (operations.length > limits.transactionOperationsMax)
      throw new StatusError({
        code: 'InvalidArgument',
        reason: 'TransactionTooLarge',
        message: `a transaction has ${operations.length} operations, at most ${limits.transactionOperationsMax} are allowed; split it`,
      });
    const revision = this.#assigned + 1;
    const at = this.#clock.now();
    const staged = new Map<string, Staged>();
    const results = operations.map((operation) => this.#stage(operation, revision, at, staged));
    const changed = [...staged.values()].filter((s) => s.after.changed);
    const records = this.#records(changed, revision, at);
    if (records.length > 0) this.#assigned = revision;
    for (const s of changed) this.#pending.set(`${s.kind} ${s.key}`, { ...s.after, revision });
    // A transaction without changes passes the pipeline too: what it read must be durable first.
    await this.#pipeline.enqueue({
      records,
      publish: () => this.#publish(changed, records, revision),
    });
    return results;
  }

  #stage(
    operation: Operation,
    revision: number,
    at: number,
    staged: Map<string, Staged>,
  ): OperationResult {
    const kind = operation.kind.kind;
    const key = keyString(keyOfOperation(operation));
    const id = `${kind} ${key}`;
    const earlier = staged.get(id);
    const before = earlier ? earlier.before : this.#current(kind, key);
    const now = earlier ? (earlier.after.exists ? earlier.after.object : undefined) : before;
    const after = applyOperation(operation, now, {
      revision,
      now: new Date(at).toISOString(),
      uid: () => this.#random.uuid(),
    });
    deepFreeze(after.object);
    const changed = after.changed || (earlier?.after.changed ?? false);
    staged.set(id, { kind, key, before, after: { ...after, changed } });
    return after;
  }

  /** The latest state, durable or on its way. */
  #current(kind: string, key: string): ApiObject | undefined {
    const pending = this.#pending.get(`${kind} ${key}`);
    if (pending) return pending.exists ? pending.object : undefined;
    return this.#visible.get(kind, key);
  }

  #records(changed: readonly Staged[], revision: number, at: number): NewRecord[] {
    const net = changed.filter((s) => s.before !== undefined || s.after.exists);
    return net.map((s, index) => {
      const encodedObject = JSON.stringify(s.after.object);
      const size = encodedObject.length;
      if (size > limits.objectBytesMax)
        throw new StatusError({
          code: 'InvalidArgument',
          reason: 'ObjectTooLarge',
          message: `${s.kind} "${s.key}" is ${size} bytes, at most ${limits.objectBytesMax} are allowed`,
        });
      const type = !s.after.exists ? 'DELETED' : s.before ? 'MODIFIED' : 'ADDED';
      const { object } = s.after;
      return { revision, index, count: net.length, type, kind: s.kind, object, at, encodedObject };
    });
  }

  #publish(changed: readonly Staged[], records: readonly NewRecord[], revision: number): void {
    if (records.length === 0) return;
    const before = new Map<string, ApiObject | undefined>();
    for (const s of changed) {
      const id = `${s.kind} ${s.key}`;
      before.set(id, s.before);
      if (s.after.exists) this.#visible.set(s.kind, s.key, s.after.object);
      else this.#visible.delete(s.kind, s.key);
      if (this.#pending.get(id)?.revision === revision) this.#pending.delete(id);
    }
    const changes = records.map(({ kind, type, object }): Change => {
      const previous = before.get(`${kind} ${keyString(keyOf(object))}`);
      const event: WatchEvent<ApiObject> =
        type === 'MODIFIED' && previous
          ? { type, object, previous, revision }
          : { type, object, revision };
      return { kind, event };
    });
    this.#hub.publish({ revision, changes });
  }

  #demandWritable(): void {
    if (this.#health.state === 'closed')
      throw new StatusError({
        code: 'Unavailable',
        reason: 'StoreClosed',
        message: 'the store is closed',
      });
  }

  async compact(): Promise<void> {
    const mark = await compactLog({
      engine: this.#engine,
      index: this.#visible,
      from: this.#compacted,
      to: this.revision,
      keepEvents: this.#options.historyEvents ?? limits.historyEvents,
      olderThan: this.#clock.now() - (this.#options.historyAgeMs ?? limits.historyAgeMs),
      onMark: (revision) => this.#hub.setCompacted(revision),
    });
    this.#compacted = mark;
  }

  async close(): Promise<void> {
    if (this.#health.state === 'closed') return;
    this.#health = { state: 'closed' };
    this.#closing.abort();
    this.#hub.wakeAll();
    await this.#pipeline.drain();
    await this.#engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Opens a store and reads its log back.
 * @throws StatusError FailedPrecondition when another process holds the directory, DataLoss when the
 * log is damaged or has a hole: nothing is repaired silently.
 */
export async function openStore(options: StoreOptions): Promise<ObjectStore> {
  const random = options.random ?? systemRandom;
  const state = await options.engine.open(() => random.uuid());
  try {
    const { index, revision } = await restoreIndex(
      options.engine,
      state.compactedRevision,
      state.highWater,
    );
    return new LogStore(options, state.storeId, index, revision, state.compactedRevision);
  } catch (error) {
    await options.engine.close();
    throw error;
  }
}
