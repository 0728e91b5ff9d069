import {
  type ApiObject,
  type ListWatch,
  stored,
  storedBatch,
  type WatchPosition,
} from '../../object/index.js';
import type { RemoteBatch } from './watch-answers.js';
import type { ResourceList } from './whole-list.js';

/** The server sends a bookmark every 15 s: a watch that is silent for longer is dead. */
const silenceMs = 40_000;

/** The calls of a source. */
export interface SourceCalls<T extends ApiObject> {
  readonly list: () => Promise<ResourceList<T>>;
  readonly watch: (from: WatchPosition, signal: AbortSignal) => AsyncIterable<RemoteBatch<T>>;
}

/** The objects of a kind on a server as an informer's source. */
export function resourceSource<T extends ApiObject>(calls: SourceCalls<T>): ListWatch<T> {
  return {
    list: async () => {
      const { items, revision, cursor } = await calls.list();
      return { items: items.map(stored), revision, cursor };
    },
    watch: async (fromRevision, sink, signal, cursor) => {
      const from = cursor === undefined ? { fromRevision } : { cursor };
      for await (const batch of calls.watch(from, signal)) sink(storedBatch(batch));
    },
    silenceMs,
  };
}
