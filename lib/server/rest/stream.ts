import type { FastifyReply } from 'fastify';
import type { JsonObject } from '../../rpc/index.js';
import { errorBody, publicError } from '../schema/error-body.js';
import { encodedOnce } from '../api/shared-answer.js';
import type { WaitingBytes } from '../transport/paced-writes.js';
import { eventBytes, sendEvents, type ServerSentEvent, watchEvents } from './sse.js';
import { StreamWriter } from './stream-writer.js';

/** An outgoing stream of answers to a REST client. */
export interface RestStream {
  readonly reply: FastifyReply;
  readonly answers: AsyncIterable<JsonObject>;
  /** `watch` and `events` are server-sent events; `lines` is one JSON document per line. */
  readonly form: 'watch' | 'events' | 'lines';
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** The buffered messages of all readers of the server. */
  readonly waiting: WaitingBytes;
  readonly requestId: string;
  /** Receives internal errors, and any error that ends a stream of `lines` after its start. */
  readonly report: (error: unknown) => void;
}

/**
 * Sends a stream. An error within the first turns of the event loop and before any answer rejects, so that it gets an
 * HTTP status. A later error ends a stream of status 200: with an ERROR event, or for `lines` by closing the connection.
 */
export async function sendStream(stream: RestStream): Promise<void> {
  const { reply, form, headers, signal, waiting } = stream;
  const answers = await begun(stream.answers);
  reply.hijack();
  using writer = new StreamWriter(reply.raw, signal, waiting);
  if (form !== 'lines') {
    await sendEvents(reply.raw, headers, eventTexts(stream, answers), writer, signal);
    return;
  }
  reply.raw.writeHead(200, { ...headers, 'content-type': 'application/x-ndjson' });
  try {
    for await (const answer of answers) {
      await writer.write(Buffer.from(`${JSON.stringify(answer)}\n`));
      if (writer.over) break;
    }
    reply.raw.end();
  } catch (error) {
    // Headers are already sent: only closing the connection shows the client that the body is incomplete.
    stream.report(error);
    reply.raw.destroy();
  }
}

/** Yields the text of the events of each answer, and the failure that ends them as the last one. */
async function* eventTexts(
  { form, requestId, report }: RestStream,
  answers: AsyncIterable<JsonObject>,
): AsyncIterable<Buffer> {
  const eventsOf = form === 'watch' ? watchEvents : plainEvents;
  try {
    for await (const answer of answers)
      yield encodedOnce(answer, eventsOf, () => eventBytes(eventsOf(answer)));
  } catch (thrown) {
    const error = publicError(thrown);
    if (error.code === 'Internal') report(thrown);
    yield eventBytes([{ event: 'ERROR', data: errorBody(error, requestId) }]);
  }
}

/** An answer as an event; the id is the position, for a client that reconnects. */
function plainEvents(data: JsonObject): readonly ServerSentEvent[] {
  const { position } = data;
  return [typeof position === 'string' && position !== '' ? { id: position, data } : { data }];
}

/**
 * Requests the first answer and returns the stream. An early error (no right, compacted) rejects here, before headers
 * are sent. A stream without an answer yet is returned after a few turns.
 */
async function begun(answers: AsyncIterable<JsonObject>): Promise<AsyncIterable<JsonObject>> {
  const iterator = answers[Symbol.asyncIterator]();
  const first = iterator.next();
  const fewTurns = (async () => {
    for (let turn = 0; turn < 8; turn += 1)
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
  })();
  await Promise.race([first, fewTurns]);
  return (async function* () {
    try {
      for (let result = await first; !result.done; result = await iterator.next())
        yield result.value;
    } finally {
      await iterator.return?.();
    }
  })();
}
