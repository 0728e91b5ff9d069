import type { ServerResponse } from 'node:http';
import { linkSignals, sleep, systemClock } from '../../base/index.js';
import { formatCursor, parseCursor } from '../../object/index.js';
import type { JsonObject } from '../../rpc/index.js';
import type { StreamWriter } from './stream-writer.js';

/** Interval of comments on an idle stream, which proxies would close otherwise. */
const heartbeatMs = 15_000;

/** A server-sent event. */
export interface ServerSentEvent {
  /** The cursor from which a reconnecting client resumes; absent keeps the previous one. */
  readonly id?: string;
  readonly event?: string;
  readonly data: unknown;
}

/** The text of events as they are sent (WHATWG HTML 9.2). */
export function eventBytes(events: Iterable<ServerSentEvent>): Buffer {
  let text = '';
  for (const { id, event, data } of events) {
    if (id !== undefined) text += `id: ${id}\n`;
    if (event !== undefined) text += `event: ${event}\n`;
    text += `data: ${JSON.stringify(data)}\n\n`;
  }
  return Buffer.from(text);
}

const comment = Buffer.from(':\n\n');

/**
 * Answers with server-sent events until the source or the connection ends. The source yields the text of the events.
 */
export async function sendEvents(
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  source: AsyncIterable<Buffer>,
  writer: StreamWriter,
  signal: AbortSignal,
): Promise<void> {
  response.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  });
  const ended = new AbortController();
  using link = linkSignals(signal, ended.signal);
  void beat(writer, link.signal);
  try {
    await writer.write(comment);
    for await (const text of source) {
      await writer.write(text);
      if (writer.over) break;
    }
  } finally {
    ended.abort();
    response.end();
  }
}

async function beat(writer: StreamWriter, signal: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(systemClock, heartbeatMs, signal);
    if (signal.aborted) return;
    // A client that has not read yet needs no heartbeat.
    if (!writer.full) await writer.write(comment);
  }
}

interface WatchAnswer {
  readonly events?: readonly { readonly type: string; readonly object: JsonObject }[];
  readonly resourceVersion: string;
}

function revisionOf(object: JsonObject): string {
  const metadata = object.metadata as { readonly resourceVersion?: string } | undefined;
  return metadata?.resourceVersion ?? '';
}

/**
 * Converts a watch answer to events. An id is sent only where a client may resume without loss or repetition: after
 * the last event of a revision, and after the whole present state.
 */
export function* watchEvents(answer: JsonObject): Iterable<ServerSentEvent> {
  const { events = [], resourceVersion = '' } = answer as Partial<WatchAnswer>;
  const storeId = resourceVersion === '' ? undefined : parseCursor(resourceVersion).storeId;
  const cursorAt = (revision: string): string =>
    storeId === undefined ? revision : formatCursor(Number(revision), storeId);
  for (const [at, { type, object }] of events.entries()) {
    const revision = revisionOf(object);
    const next = events[at + 1];
    const last = resourceVersion !== '' && (!next || revisionOf(next.object) !== revision);
    yield { ...(last ? { id: cursorAt(revision) } : {}), event: type, data: { type, object } };
  }
  if (events.length === 0)
    yield { id: resourceVersion, event: 'BOOKMARK', data: { type: 'BOOKMARK', resourceVersion } };
}
