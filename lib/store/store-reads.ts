import { type Clock, linkSignals } from '../base/index.js';
import { promised } from '../base/promises/later.js';
import {
  type ApiObject,
  type Kind,
  type ListWatch,
  namespaceIndex,
  type ObjectKey,
  requireNamespace,
  revisionIn,
  type StoredBatch,
  type WatchBatch,
} from '../object/index.js';
import type { ListOptions, ListResult, WatchOptions } from './contract/reads.js';
import type { KeptIndexes } from './index/kept-indexes.js';
import type { ObjectIndex } from './index/object-index.js';
import type { PagedLists } from './index/paged-lists.js';
import type { LazyObject } from './record/lazy-object.js';
import { initialBatches } from './watch/initial-events.js';
import { InitialSnapshots } from './watch/initial-snapshots.js';
import type { WatchHub } from './watch/watch-hub.js';
import { requireIndexSelection } from './writes/kind-checks.js';

/** The sources of a store's reads. */
export interface StoreReadsOptions {
  readonly storeId: string;
  readonly index: ObjectIndex;
  readonly kept: KeptIndexes;
  readonly pages: PagedLists;
  readonly hub: WatchHub;
  /** The initial states of watches, bounded by `limits.initialStatesBytesMax` by default. */
  readonly initial?: InitialSnapshots;
  readonly clock: Clock;
  /** Aborts when the store closes, which ends every watch. */
  readonly closing: AbortSignal;
}

/** Reads of a store: objects, lists, watches. They return visible state, never a write that may still fail. */
export class StoreReads {
  readonly #options: StoreReadsOptions;
  readonly #initial: InitialSnapshots;

  constructor(options: StoreReadsOptions) {
    this.#options = options;
    this.#initial = options.initial ?? new InitialSnapshots();
  }

  /** Counts bytes of an object that was replaced or deleted: unfinished lists and initial states may keep it alive. */
  noteReplaced(kind: string, bytes: number): void {
    this.#options.pages.noteReplaced(kind, bytes);
    this.#initial.noteReplaced(kind, bytes);
  }

  get<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): Promise<T | undefined> {
    return promised(() => this.#options.index.lookup(kind, key));
  }

  /**
   * Implements StoreReader.list.
   * @param assigned the last revision that was assigned to a write
   */
  async list<T extends ApiObject>(
    kind: Kind<T>,
    options: ListOptions,
    assigned: number,
  ): Promise<ListResult<T>> {
    requireIndexSelection(kind, options);
    requireNamespace(kind, options.namespace);
    const { index: objects, kept, pages, hub, clock } = this.#options;
    kept.learn(kind, assigned);
    const { pageToken, namespace, index, value } = options;
    if (pageToken) return pages.next<T>(pageToken, kind.kind, options, options);
    const byNamespace = index === namespaceIndex ? value : namespace;
    const under =
      index === undefined || index === namespaceIndex
        ? undefined
        : await kept.under(kind, index, value, objects, clock);
    const chunks = under ? [under()] : objects.snapshot(kind.kind, byNamespace);
    const snapshot = { kind: kind.kind, revision: hub.revision, chunks };
    return pages.first<T>(snapshot, options, options);
  }

  async *watch<T extends ApiObject>(
    kind: Kind<T>,
    options: WatchOptions,
  ): AsyncIterable<WatchBatch<T>> {
    requireNamespace(kind, options.namespace);
    const { storeId, index, hub, clock, closing } = this.#options;
    using link = linkSignals(options.signal, closing);
    const { signal } = link;
    let fromRevision: number;
    if ('fromRevision' in options) {
      ({ fromRevision } = options);
    } else if ('cursor' in options) {
      fromRevision = revisionIn(storeId, options.cursor);
    } else {
      fromRevision = hub.revision;
      const chunks = index.snapshot(kind.kind, options.namespace);
      using snapshot = this.#initial.take(kind.kind, chunks);
      const batches = initialBatches(snapshot, options, fromRevision, clock);
      for await (const batch of batches) {
        if (signal.aborted) return;
        yield batch as WatchBatch<T>;
      }
    }
    const batches = hub.watch(kind.kind, { ...options, fromRevision, signal });
    yield* batches as AsyncIterable<WatchBatch<T>>;
  }

  source<T extends ApiObject>(kind: Kind<T>): ListWatch<T> {
    const { storeId, index, hub, closing } = this.#options;
    return {
      list: () => {
        // Not flat(), which is many times slower and blocks the event loop.
        const chunks = index.snapshot(kind.kind);
        const items = ([] as LazyObject[]).concat(...chunks) as LazyObject<T>[];
        return Promise.resolve({ items, revision: hub.revision });
      },
      watch: async (revision, sink, signal, cursor) => {
        const from = cursor === undefined ? revision : revisionIn(storeId, cursor);
        using link = linkSignals(signal, closing);
        const reported = sink as (batch: StoredBatch<ApiObject>) => void;
        await hub.subscribe(kind.kind, from, reported, link.signal);
      },
      currentRevision: () => hub.revision,
    };
  }
}
