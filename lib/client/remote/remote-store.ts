import {
  type Clock,
  hasCode,
  type Logger,
  type Random,
  silentLogger,
  sleep,
  StatusError,
  systemClock,
  systemRandom,
} from '../../base/index.js';
import {
  type ApiObject,
  formatCursor,
  type Kind,
  type ListWatch,
  type ObjectKey,
  parseCursor,
  requireSendable,
  stored,
  storedBatch,
  type WatchBatch,
} from '../../object/index.js';
import { type JsonObject, textOf } from '../../rpc/index.js';
import type {
  ListOptions,
  ListResult,
  ObjectStore,
  Operation,
  OperationResult,
  StoreHealth,
  WatchOptions,
} from '../../store/index.js';
import { TransactionalWrites } from '../../store/writes/transactional-writes.js';
import { RemoteCalls, requireConnection } from './remote-calls.js';
import { RemoteLists } from './remote-lists.js';
import { resumedWatch } from './resumed-watch.js';
import { isGone, restartsMax } from './remote-restarts.js';
import { healthOf } from './remote-health.js';
import { objectFrom, resultFrom, wireOperation } from './remote-objects.js';
import { type RemoteWatch, startOf, watchBatches } from './remote-watch.js';
import type { RemoteStoreOptions } from './remote-store-options.js';

/** Interval of status calls, which update health and store id. */
const heartbeatMs = 5_000;
/** The server sends a bookmark every 15 s: a stream that is silent for longer is dead. */
const silenceMs = 40_000;

/**
 * The store of a server in another process, over its object service. Create it with {@link RemoteStore.connect}.
 *
 * Guarantees: those of every store, within the caller's rights. A transaction is sent once. Another store at the same
 * address (a restored backup) is detected: `storeId` changes, and writes based on the old store are refused.
 *
 * Ordering: as in every store. Reads are answered at the newest revision that this process has seen, or later; other
 * processes may see a write before its promise resolves here.
 *
 * Errors: reads are repeated while the server can't be reached, until the deadline of the call. For a write,
 * Unavailable (Unreachable) means that nothing was sent, and Unavailable (OutcomeUnknown) that it was committed once or
 * never. Another store at the address refuses writes with Aborted (OtherStore) and watches with OutOfRange.
 *
 * Caveats: objects have the form of the API for this caller: values of secrets are masked, status fields given to
 * `create` are not stored. Compaction, backup and verification are available only on the server.
 *
 * @example
 * import { keyOf } from 'kedge';
 * import { RemoteStore } from 'kedge/client';
 *
 * await using store = await RemoteStore.connect({ server: '127.0.0.1:7000', token: process.env.TOKEN });
 * const { items } = await store.list(lamps);
 * for (const lamp of items) await store.updateStatus(lamps, keyOf(lamp), { lit: lamp.on ?? false });
 */
export class RemoteStore extends TransactionalWrites implements ObjectStore {
  readonly #options: RemoteStoreOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #calls: RemoteCalls;
  readonly #lists: RemoteLists;
  readonly #closing = new AbortController();
  #storeId = '';
  #clusterId = '';
  #revision = 0;
  #health: StoreHealth = { state: 'serving' };
  #heartbeat: Promise<void> = Promise.resolve();

  private constructor(options: RemoteStoreOptions) {
    super();
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#logger = (options.logger ?? silentLogger).child({ store: options.server });
    this.#calls = new RemoteCalls(options, this.#clock, this.#random);
    this.#lists = new RemoteLists((request, signal) =>
      this.#read('ObjectService.List', request, signal),
    );
  }

  /**
   * Connects to a server. Resolves once the server has answered.
   * @throws StatusError Unavailable or DeadlineExceeded if it did not answer within `timeoutMs`, Unauthenticated
   * @throws TypeError for an invalid `server`, `keepaliveMs`, clock, random source or logger, RangeError for an invalid
   * `timeoutMs`
   */
  static async connect(options: RemoteStoreOptions): Promise<RemoteStore> {
    const store = new RemoteStore(requireConnection(options));
    try {
      await store.#refresh();
    } catch (error) {
      await store.close();
      throw error;
    }
    store.#heartbeat = store.#beat();
    return store;
  }

  get storeId(): string {
    return this.#storeId;
  }

  get clusterId(): string {
    return this.#clusterId;
  }

  /** The newest revision that this process has seen. */
  get revision(): number {
    return this.#revision;
  }

  health(): StoreHealth {
    return this.#health;
  }

  async get<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): Promise<T | undefined> {
    requireSendable(kind, key);
    const reveal = this.#options.reveal?.some((one) => one.kind === kind.kind) === true;
    const where = { kind: kind.kind, namespace: key.namespace ?? '', name: key.name, reveal };
    const text = textOf(await this.#read('ObjectService.Get', where), 'object');
    return text === '' ? undefined : objectFrom<T>(text);
  }

  list<T extends ApiObject>(kind: Kind<T>, options: ListOptions = {}): Promise<ListResult<T>> {
    return this.#lists.list(kind, options);
  }

  /**
   * Watches a kind; the watch is resumed automatically after a broken connection.
   * @throws StatusError OutOfRange as every watch, Unavailable (WatchBroke) if it ends before all initial objects were
   * delivered, Unauthenticated if a renewed token is refused too.
   */
  watch<T extends ApiObject>(kind: Kind<T>, options: WatchOptions): AsyncIterable<WatchBatch<T>> {
    return resumedWatch<T>({
      kind: kind.kind,
      options,
      start: () => startOf(options, this.#storeId),
      open: (start) => this.#batches(kind, { ...options, start }, options.signal),
      closing: this.#closing.signal,
      clock: this.#clock,
      random: this.#random,
      logger: this.#logger,
    });
  }

  source<T extends ApiObject>(kind: Kind<T>): ListWatch<T> {
    return {
      silenceMs,
      list: async (signal) => {
        const { items, revision, cursor } = await this.#lists.whole(kind, {}, signal);
        return { items: items.map(stored), revision, ...(cursor === undefined ? {} : { cursor }) };
      },
      watch: async (revision, sink, signal, cursor) => {
        const start = cursor ?? formatCursor(revision, this.#storeId);
        for await (const batch of this.#batches(kind, { start }, signal)) sink(storedBatch(batch));
      },
    };
  }

  async *#batches<T extends ApiObject>(
    kind: Kind<T>,
    watch: RemoteWatch,
    signal: AbortSignal,
  ): AsyncIterable<WatchBatch<T>> {
    const stream = (request: JsonObject): AsyncIterable<JsonObject> =>
      this.#calls.stream('ObjectService.Watch', request, signal, silenceMs);
    try {
      for await (const batch of watchBatches<T>(kind, watch, stream)) {
        if (batch.cursor !== undefined) this.#learn(batch.cursor);
        yield batch;
      }
    } catch (error) {
      if (isGone(error)) await this.#refresh().catch(() => undefined);
      throw error;
    }
  }

  async transact(operations: readonly Operation[]): Promise<readonly OperationResult[]> {
    const request = (): JsonObject => ({
      operations: operations.map(wireOperation),
      storeId: this.#storeId,
    });
    try {
      const answer =
        operations.length === 0
          ? await this.#calls.read('ObjectService.Transact', request)
          : await this.#calls.write('ObjectService.Transact', request);
      this.#learn(textOf(answer, 'cursor'));
      const results = Array.isArray(answer.results) ? answer.results : [];
      return operations.map((operation, at) => resultFrom(operation, results[at]));
    } catch (error) {
      if (hasCode(error, 'Aborted') && error.reason === 'OtherStore')
        await this.#refresh().catch(() => undefined);
      throw error;
    }
  }

  /** Reads at the newest revision that this process has seen, or later. */
  async #read(method: string, request: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    const options = signal ? { signal } : {};
    for (let restarts = 0; ; restarts += 1) {
      const atLeast = (): string => formatCursor(this.#revision, this.#storeId);
      try {
        const whole = (): JsonObject => ({ ...request, atLeast: atLeast() });
        const answer = await this.#calls.read(method, whole, options);
        this.#learn(textOf(answer, 'cursor'));
        return answer;
      } catch (error) {
        const met = isGone(error) && (error.reason === 'OtherStore' || error.reason === 'Ahead');
        if (!met || restarts >= restartsMax) throw error;
        await this.#refresh(signal);
      }
    }
  }

  /** Queries the server's store and adopts its answer, even an older revision. */
  async #refresh(signal?: AbortSignal): Promise<void> {
    const answer = await this.#calls.read(
      'ObjectService.Status',
      () => ({}),
      signal ? { signal } : {},
    );
    const { revision, storeId = '' } = parseCursor(textOf(answer, 'cursor'));
    if (storeId === this.#storeId && revision < this.#revision) {
      this.#logger.error('the store has an older revision than before', {
        revision,
        seen: this.#revision,
      });
      this.#revision = revision;
    }
    this.#learn(textOf(answer, 'cursor'));
    this.#clusterId = textOf(answer, 'clusterId');
    this.#health = this.#closing.signal.aborted ? this.#health : healthOf(textOf(answer, 'state'));
  }

  #learn(cursor: string): void {
    const { revision, storeId = '' } = parseCursor(cursor, 'cursor');
    if (storeId === this.#storeId) {
      this.#revision = Math.max(this.#revision, revision);
      return;
    }
    const before = this.#storeId;
    this.#storeId = storeId;
    this.#revision = revision;
    if (before === '') return;
    this.#logger.warn('the server has a different store', { before, storeId });
    this.#options.onOtherStore?.(storeId);
  }

  async #beat(): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      await sleep(this.#clock, heartbeatMs, signal, { background: true });
      if (signal.aborted) return;
      try {
        await this.#refresh();
      } catch (error) {
        if (signal.aborted) return;
        this.#health = { state: 'unreachable', error: StatusError.from(error) };
      }
    }
  }

  async close(): Promise<void> {
    if (this.#health.state === 'closed') return;
    this.#health = { state: 'closed' };
    this.#closing.abort();
    this.#calls.close();
    await this.#heartbeat;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
