import type {
  ApiObject,
  FieldSelector,
  Kind,
  LabelSelector,
  WatchBatch,
  WatchEvent,
} from '../object/index.js';
import type { JsonObject } from '../rpc/index.js';
import type { ObjectStore } from '../store/index.js';
import { parseRevision } from './revision.js';

/** An idle watch tells its position this often, so that a resume does not fall out of history. */
const bookmarkMs = 15_000;

/** An answer is cut behind so much. */
const answerBytesMax = 32 * 1024;
/** Of an event whose source does not tell its size. */
const sizeGuess = 512;

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
    const parts = visible ? await seen(batch, visible) : batch;
    // Live, an empty answer is a bookmark, and true; inside the present state it would end that.
    if (parts.events.length === 0 && batch.initial === 'more') continue;
    yield* answers(parts, batch.initial === 'more', show);
  }
}

async function seen(
  batch: WatchBatch<ApiObject>,
  visible: (object: ApiObject) => boolean | Promise<boolean>,
): Promise<WatchBatch<ApiObject>> {
  const events: WatchEvent<ApiObject>[] = [];
  for (const event of batch.events) if (await visible(event.object)) events.push(event);
  return { ...batch, events };
}

/**
 * A batch as answers of bounded size, so that a watcher that reads slowly holds little: cut between
 * revisions, each with the last one it has in full. One transaction stays whole.
 */
function* answers(
  { events, revision }: WatchBatch<ApiObject>,
  initial: boolean,
  show: (object: ApiObject) => JsonObject,
): Iterable<JsonObject> {
  let told: { readonly type: string; readonly object: JsonObject }[] = [];
  let bytes = 0;
  for (const [at, event] of events.entries()) {
    const { type, object } = event;
    told.push({ type, object: show(object) });
    bytes += event.size ?? sizeGuess;
    const next = events[at + 1];
    const whole = initial || next?.revision !== event.revision;
    if (!next || !whole || bytes < answerBytesMax) continue;
    yield { events: told, resourceVersion: initial ? '' : String(event.revision) };
    told = [];
    bytes = 0;
  }
  yield { events: told, resourceVersion: initial ? '' : String(revision) };
}
