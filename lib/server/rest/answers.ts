import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../base/index.js';
import type { JsonObject, MethodInfo } from '../../rpc/index.js';
import { listText, longItems } from '../transport/list-encoding.js';
import { RecentCache } from '../objects/recent-cache.js';
import { acceptsGzip, type CrossOrigin } from './headers.js';

/** Maximum number of cached answer texts, and maximum characters of one. Longer answers are serialized each time. */
const textsMax = 1_024;
const textCharactersMax = 32 * 1024;
/** Lists with fewer items are not compressed, because that saves little. */
const gzipItemsMin = 8;

/** Sends answers: single objects directly to the connection, lists in pieces. */
export class RestAnswers {
  readonly #crossOrigin: CrossOrigin;
  readonly #clock: Clock;
  readonly #texts = new RecentCache<JsonObject, string>(textsMax, {
    of: ({ length }) => (length > textCharactersMax ? Infinity : length),
    max: textsMax * textCharactersMax,
  });

  constructor(crossOrigin: CrossOrigin, clock: Clock) {
    this.#crossOrigin = crossOrigin;
    this.#clock = clock;
  }

  /** Sends a text without fastify's own send, which looks for hooks and serializers at each answer; 304 has no text. */
  sendText(
    request: FastifyRequest,
    reply: FastifyReply,
    tag: string | undefined,
    text: string | undefined,
  ): void {
    const headers: Record<string, string | number> = {
      'x-request-id': request.id,
      ...this.#crossOrigin.headersFor(request),
    };
    if (tag !== undefined) headers.etag = tag;
    if (text !== undefined) {
      headers['content-type'] = 'application/json; charset=utf-8';
      headers['content-length'] = Buffer.byteLength(text);
    }
    reply.hijack();
    reply.raw.writeHead(text === undefined ? 304 : 200, headers);
    reply.raw.end(text);
  }

  /** The text of an answer to several callers, from the cache if possible. */
  text(answer: JsonObject): string {
    return this.#texts.of(answer, () => JSON.stringify(answer));
  }

  /** Sends a list in pieces, compressed if the client accepts it. */
  sendList(
    method: MethodInfo,
    request: FastifyRequest,
    reply: FastifyReply,
    answer: JsonObject,
  ): FastifyReply {
    const items = longItems(method, answer);
    const count = Array.isArray(answer.items) ? answer.items.length : 0;
    const packed = count >= gzipItemsMin && acceptsGzip(request.headers['accept-encoding']);
    void reply.type('application/json; charset=utf-8');
    const vary = reply.getHeader('vary');
    void reply.header(
      'vary',
      vary === undefined ? 'accept-encoding' : `${String(vary)}, accept-encoding`,
    );
    if (packed) void reply.header('content-encoding', 'gzip');
    if (!items && !packed) return reply.send(JSON.stringify(answer));
    const text = items
      ? Readable.from(listText(answer, items, this.#clock))
      : Readable.from([JSON.stringify(answer)]);
    if (!packed) return reply.send(text);
    // The end of one side ends the other. A disconnected client is not a failure.
    return reply.send(pipeline(text, createGzip(), () => undefined));
  }
}
