import type { ApiObject, FieldSelector, Kind, LabelSelector } from '../object/index.js';
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
  /** Undefined: everything, without looking at labels. */
  readonly selector: LabelSelector | undefined;
  /** Undefined: all. */
  readonly fields?: FieldSelector | undefined;
  /** Undefined: all that the selectors cover. */
  readonly visible?: ((object: ApiObject) => boolean | Promise<boolean>) | undefined;
  readonly signal: AbortSignal;
  readonly show: (object: ApiObject) => JsonObject;
}

/**
 * Answers of a Watch method: batches of events and bookmarks, without end. The present state comes in
 * several; until all of it was sent they carry no resourceVersion, for nobody could resume there.
 */
export async function* watchResource(
  store: ObjectStore,
  kind: Kind,
  request: WatchRequest,
): AsyncIterable<JsonObject> {
  const { namespace, selector, fields, visible, signal, show } = request;
  const start =
    request.resourceVersion === ''
      ? { sendInitialEvents: true as const }
      : { fromRevision: parseRevision(request.resourceVersion) };
  const where = {
    ...(namespace === undefined ? {} : { namespace }),
    ...(selector ? { labels: selector } : {}),
    ...(fields ? { fields } : {}),
  };
  for await (const batch of store.watch(kind, { ...start, ...where, signal, bookmarkMs })) {
    const events: { readonly type: string; readonly object: JsonObject }[] = [];
    for (const { type, object } of batch.events)
      if (!visible || (await visible(object))) events.push({ type, object: show(object) });
    // Live, an empty answer is a bookmark, and true; inside the present state it would end that.
    if (events.length === 0 && batch.initial === 'more') continue;
    yield { events, resourceVersion: batch.initial === 'more' ? '' : String(batch.revision) };
  }
}
