import {
  type AnyKind,
  type ApiObject,
  formatCursor,
  parseCursor,
  type WatchBatch,
  type WatchEvent,
} from '../../object/index.js';
import { isJsonObject, type JsonObject, textOf } from '../../rpc/index.js';
import type { WatchOptions } from '../../store/index.js';
import { objectFrom } from './remote-objects.js';
import {
  isSelected,
  remoteNamespace,
  remoteSelection,
  type Selectors,
} from './remote-selection.js';

/** One stream of a watch. */
export interface RemoteWatch extends Selectors {
  readonly namespace?: string;
  /** The cursor to resume from; empty starts with the present objects. */
  readonly start: string;
  readonly withPrevious?: boolean;
}

/**
 * The start cursor of a watch; empty for the present objects.
 * @throws StatusError InvalidArgument (InvalidCursor)
 */
export function startOf(options: WatchOptions, storeId: string): string {
  if ('cursor' in options) {
    parseCursor(options.cursor, 'cursor');
    return options.cursor;
  }
  if ('fromRevision' in options) return formatCursor(options.fromRevision, storeId);
  return '';
}

/** Yields the batches of one stream, until it ends. */
export async function* watchBatches<T extends ApiObject>(
  kind: AnyKind,
  watch: RemoteWatch,
  stream: (request: JsonObject) => AsyncIterable<JsonObject>,
): AsyncIterable<WatchBatch<T>> {
  const { texts, local } = remoteSelection(watch);
  const request = {
    kind: kind.kind,
    namespace: remoteNamespace(kind, watch.namespace),
    cursor: watch.start,
    ...texts,
    // The previous state shows whether an object leaves a local selection.
    previous: local !== undefined || watch.withPrevious === true,
  };
  let initial = watch.start === '';
  let seen = 0;
  for await (const answer of stream(request)) {
    const given = Array.isArray(answer.events) ? answer.events.filter(isJsonObject) : [];
    const all = given.map((event) => eventFrom<T>(event));
    const events = local ? all.flatMap((event) => selected(event, local)) : all;
    const cursor = textOf(answer, 'cursor');
    if (cursor === '') {
      seen = Math.max(seen, ...events.map((event) => event.revision));
      if (events.length > 0) yield { revision: seen, events, initial: 'more' };
      continue;
    }
    const { revision } = parseCursor(cursor, 'cursor');
    yield initial ? { revision, cursor, events, initial: 'end' } : { revision, cursor, events };
    initial = false;
  }
}

function eventFrom<T extends ApiObject>(event: JsonObject): WatchEvent<T> {
  const previous = textOf(event, 'previous');
  return {
    type: event.type as WatchEvent<T>['type'],
    object: objectFrom<T>(textOf(event, 'object')),
    ...(previous === '' ? {} : { previous: objectFrom<T>(previous) }),
    revision: Number(textOf(event, 'revision')),
  };
}

/** Converts a change for a selection: a new match is an addition, a lost match a deletion. */
function selected<T extends ApiObject>(
  event: WatchEvent<T>,
  selectors: Selectors,
): readonly WatchEvent<T>[] {
  const { type, object, revision } = event;
  const previous = 'previous' in event ? event.previous : undefined;
  const now = type !== 'DELETED' && isSelected(selectors, object);
  const was = type !== 'ADDED' && isSelected(selectors, previous ?? object);
  if (now && was) return [event];
  if (now) return [{ type: 'ADDED', object, revision }];
  return was ? [{ ...event, type: 'DELETED', object, revision }] : [];
}
