import type { ApiObject, Kind, LabelSelector, WatchEvent } from '../object/index.js';
import type { JsonObject } from '../rpc/index.js';
import type { ObjectStore } from '../store/index.js';
import { parseRevision } from './revision.js';

/** An idle watch tells its position this often, so that a resume does not fall out of history. */
const bookmarkMs = 15_000;

/** What a watch covers and how its objects are shown. */
export interface WatchRequest {
  /** Undefined means all. */
  readonly namespace: string | undefined;
  /** Last version seen; empty starts with the present state. */
  readonly resourceVersion: string;
  readonly selector: LabelSelector;
  readonly signal: AbortSignal;
  readonly show: (object: ApiObject) => JsonObject;
}

/**
 * The event as a selecting watcher sees it: an object that stops matching is deleted for it. Where
 * the state before is no longer known a deletion is sent although the watcher may not have had it.
 */
function selected(
  event: WatchEvent<ApiObject>,
  matches: LabelSelector,
): { readonly type: string; readonly object: ApiObject } | undefined {
  const { object } = event;
  const now = matches(object.labels);
  if (event.type !== 'MODIFIED') return now ? { type: event.type, object } : undefined;
  const before = event.previous ? matches(event.previous.labels) : undefined;
  if (now) return { type: before === false ? 'ADDED' : 'MODIFIED', object };
  return before === false ? undefined : { type: 'DELETED', object };
}

/** Answers of a Watch method: batches of events and bookmarks, without end. */
export async function* watchResource(
  store: ObjectStore,
  kind: Kind,
  request: WatchRequest,
): AsyncIterable<JsonObject> {
  const { namespace, selector, signal, show } = request;
  let fromRevision: number;
  if (request.resourceVersion === '') {
    const list = await store.list(kind, {
      labels: selector,
      ...(namespace === undefined ? {} : { namespace }),
    });
    fromRevision = list.revision;
    const events = list.items.map((object) => ({ type: 'ADDED', object: show(object) }));
    yield { events, resourceVersion: String(fromRevision) };
  } else {
    fromRevision = parseRevision(request.resourceVersion);
  }
  const options = { fromRevision, signal, bookmarkMs };
  const batches = store.watch(kind, namespace === undefined ? options : { ...options, namespace });
  for await (const batch of batches) {
    const events = batch.events.flatMap((event) => {
      const shown = selected(event, selector);
      return shown ? [{ type: shown.type, object: show(shown.object) }] : [];
    });
    if (events.length > 0 || batch.events.length === 0)
      yield { events, resourceVersion: String(batch.revision) };
  }
}
