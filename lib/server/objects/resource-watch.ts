import {
  type ApiObject,
  type FieldSelector,
  formatCursor,
  type Kind,
  type LabelSelector,
  parseCursor,
  type WatchBatch,
  type WatchEvent,
} from '../../object/index.js';
import type { JsonObject } from '../../rpc/index.js';
import type { ObjectStore } from '../../store/index.js';
import type { SharedAnswers } from './shared-answers.js';

/** Interval of bookmarks of an idle watch, so that its cursor stays within the history. */
const bookmarkMs = 15_000;

/** Answers are split above this size. */
const answerBytesMax = 32 * 1024;
/** The assumed size of an event of unknown size. */
const sizeGuess = 512;

/** The scope of a watch and the form of its answers. */
export interface WatchRequest {
  /** Namespace of the objects; undefined: all namespaces. */
  readonly namespace: string | undefined;
  /** The cursor to resume after; empty starts with the present state. */
  readonly resourceVersion: string;
  /** Selects by labels; undefined: all objects, and labels are not read. */
  readonly selector: LabelSelector | undefined;
  /** Selects by fields; undefined: all objects. */
  readonly fields?: FieldSelector | undefined;
  /** Returns whether the caller may see an object; undefined: the caller sees all objects. */
  readonly visible?: Visible | undefined;
  /** Whether `convert` needs the state before each change. */
  readonly withPrevious?: boolean;
  readonly signal: AbortSignal;
  /** Converts an event to its form in answers. */
  readonly convert: (event: WatchEvent<ApiObject>) => JsonObject;
  /** The name of the field of answers with the cursor. */
  readonly cursorField?: 'resourceVersion' | 'cursor';
  /** The answers of all callers who see all objects in this form; undefined: they are made for this caller alone. */
  readonly shared?: SharedAnswers;
}

/**
 * Yields the answers of a Watch method: batches of events and bookmarks, without end, each with a cursor to resume
 * from. The present state takes one or more answers. They have no cursor until all of it was sent, because a watch can't
 * resume there.
 * @throws StatusError as {@link ObjectStore.watch} does
 */
export async function* watchResource(
  store: ObjectStore,
  kind: Kind,
  request: WatchRequest,
): AsyncIterable<JsonObject> {
  const { namespace, selector, fields, visible, signal, convert, withPrevious = false } = request;
  const { cursorField = 'resourceVersion' } = request;
  // Answers that depend on the caller are not shared, nor are those of the present state, which are made for one caller.
  const shared = visible ? undefined : request.shared;
  const start =
    request.resourceVersion === ''
      ? { sendInitialEvents: true as const }
      : { cursor: request.resourceVersion };
  const where = {
    ...(namespace === undefined ? {} : { namespace }),
    ...(selector ? { labels: selector } : {}),
    ...(fields ? { fields } : {}),
    // The state before a change shows whether an object is no longer visible to the caller.
    ...(visible || withPrevious ? { withPrevious: true } : {}),
  };
  for await (const batch of store.watch(kind, { ...start, ...where, signal, bookmarkMs })) {
    const parts = visible ? await seen(batch, visible) : batch;
    // An empty live answer is a valid bookmark; within the present state it would end that state.
    if (parts.events.length === 0 && batch.initial === 'more') continue;
    const { storeId = store.storeId } = batch.cursor === undefined ? {} : parseCursor(batch.cursor);
    const make = (): Iterable<JsonObject> =>
      answers(parts, batch.initial === 'more', (events, revision) => ({
        events: events.map(convert),
        [cursorField]: batch.initial === 'more' ? '' : formatCursor(revision, storeId),
      }));
    const found = shared && batch.initial === undefined ? shared.of(batch, make) : make();
    for (const answer of found) yield answer;
  }
}

type Visible = (object: ApiObject) => boolean | Promise<boolean>;

async function seen(
  batch: WatchBatch<ApiObject>,
  visible: Visible,
): Promise<WatchBatch<ApiObject>> {
  const events: WatchEvent<ApiObject>[] = [];
  for (const event of batch.events) {
    const reported = await seenAs(event, visible);
    if (reported) events.push(reported);
  }
  return { ...batch, events };
}

/**
 * Returns a change as a caller with access to some objects sees it; undefined if the caller sees neither state. An
 * object that becomes visible is added; one that becomes invisible is deleted, with its last visible state.
 */
async function seenAs(
  event: WatchEvent<ApiObject>,
  visible: Visible,
): Promise<WatchEvent<ApiObject> | undefined> {
  const { type, object, revision, size } = event;
  const previous = type === 'ADDED' ? undefined : event.previous;
  const now = await visible(object);
  const was = previous ? await visible(previous) : type !== 'ADDED' && now;
  if (type === 'ADDED' || (now && was && type === 'MODIFIED')) return now ? event : undefined;
  const sized = size === undefined ? {} : { size };
  if (type === 'MODIFIED' && now) return { type: 'ADDED', object, revision, ...sized };
  if (!was) return undefined;
  if (!previous) return { type: 'DELETED', object, revision, ...sized };
  if (now) return { type: 'DELETED', object, previous, revision, ...sized };
  const metadata = { ...previous.metadata, resourceVersion: object.metadata.resourceVersion };
  return { type: 'DELETED', object: { ...previous, metadata }, previous, revision, ...sized };
}

/**
 * Splits a batch into answers of bounded size, so that a slow watcher needs little memory. Answers are split between
 * revisions, each with the last revision that it has completely. One transaction is never split.
 */
function* answers(
  { events, revision }: WatchBatch<ApiObject>,
  initial: boolean,
  answer: (events: readonly WatchEvent<ApiObject>[], revision: number) => JsonObject,
): Iterable<JsonObject> {
  let start = 0;
  let bytes = 0;
  for (const [at, event] of events.entries()) {
    bytes += event.size ?? sizeGuess;
    const next = events[at + 1];
    const whole = initial || next?.revision !== event.revision;
    if (!next || !whole || bytes < answerBytesMax) continue;
    yield answer(events.slice(start, at + 1), event.revision);
    start = at + 1;
    bytes = 0;
  }
  yield answer(start === 0 ? events : events.slice(start), revision);
}
