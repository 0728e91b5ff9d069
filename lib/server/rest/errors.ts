import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits, StatusError } from '../../base/index.js';
import { errorBody, problemBody } from '../schema/error-body.js';
import { httpStatuses } from '../schema/http-status.js';
import { wantsProblem } from './headers.js';

/** Maximum bytes that are read and discarded of the rest of an oversized body, before the connection is closed. */
const discardBytesMax = 8 * limits.requestBytesMax;

/** Answers with an error in the requested form. */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  error: StatusError,
  status: number = httpStatuses[error.code],
): FastifyReply {
  if (error.retryAfterMs !== undefined)
    void reply.header('retry-after', String(Math.ceil(error.retryAfterMs / 1_000)));
  if (error.code === 'Unauthenticated') void reply.header('www-authenticate', 'Bearer');
  const problem = wantsProblem(request.headers.accept);
  return reply
    .code(status)
    .header('x-request-id', request.id)
    .type(problem ? 'application/problem+json' : 'application/json; charset=utf-8')
    .send(
      JSON.stringify(
        problem ? problemBody(error, request.id, status) : errorBody(error, request.id),
      ),
    );
}

/**
 * Reads the rest of a request body and discards it, up to a maximum of bytes; the server's request timeout bounds the
 * time.
 */
export async function discardBody(incoming: IncomingMessage): Promise<void> {
  let bytes = 0;
  try {
    for await (const chunk of incoming) {
      bytes += (chunk as Buffer).length;
      if (bytes > discardBytesMax) return;
    }
  } catch {
    // The client disconnected: the answer is not needed.
  }
}

/** Converts fastify's own refusals to errors of the API. Any other value is returned unchanged. */
export function transportError(thrown: unknown): unknown {
  if (thrown instanceof StatusError) return thrown;
  const { statusCode, message } = thrown as { statusCode?: number; message?: string };
  const known: Readonly<Record<number, string>> = {
    400: 'MalformedRequest',
    413: 'BodyTooLarge',
    415: 'UnsupportedMediaType',
    414: 'UrlTooLong',
  };
  const reason = statusCode === undefined ? undefined : known[statusCode];
  if (reason === undefined) return thrown;
  const tooLarge = `is larger than ${limits.requestBytesMax} bytes; split it`;
  return new StatusError({
    code: 'InvalidArgument',
    reason,
    message: statusCode === 413 ? `the body ${tooLarge}` : (message ?? reason),
    cause: thrown,
    ...(statusCode === 413 ? { violations: [{ field: 'body', description: tooLarge }] } : {}),
  });
}
