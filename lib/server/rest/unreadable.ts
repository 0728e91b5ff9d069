import { maxHeaderSize, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { StatusError } from '../../base/index.js';
import { errorBody } from '../schema/error-body.js';

interface Refusal {
  readonly status: number;
  readonly error: StatusError;
}

function refusalOf(thrown: NodeJS.ErrnoException): Refusal {
  switch (thrown.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return {
        status: 408,
        error: new StatusError({
          code: 'DeadlineExceeded',
          reason: 'RequestTimeout',
          message: 'the request was still incomplete after the timeout; send it without pauses',
          cause: thrown,
        }),
      };
    case 'HPE_HEADER_OVERFLOW':
      return {
        status: 431,
        error: new StatusError({
          code: 'InvalidArgument',
          reason: 'HeadersTooLarge',
          message: `path and headers are larger than ${maxHeaderSize} bytes; shorten them, a long selector for example`,
          cause: thrown,
        }),
      };
    default:
      return {
        status: 400,
        error: new StatusError({
          code: 'InvalidArgument',
          reason: 'MalformedRequest',
          message:
            'the received data is not HTTP/1.1; TLS, HTTP/2 and gRPC use other ports or settings',
          cause: thrown,
        }),
      };
  }
}

/** Answers a request that Node.js could not parse with an error in the form of the API, and closes the connection. */
export function answerUnreadable(
  thrown: NodeJS.ErrnoException,
  socket: Socket,
  requestId: string,
): void {
  const { code = '' } = thrown;
  // Other errors affect the connection itself, such as a failed handshake: no answer can be sent.
  const isOfRequest = code === 'ERR_HTTP_REQUEST_TIMEOUT' || code.startsWith('HPE_');
  // An answer that has already started would be mixed with this one.
  const { _httpMessage: under } = socket as { _httpMessage?: { readonly headersSent?: boolean } };
  if (!isOfRequest || !socket.writable || under?.headersSent === true) {
    socket.destroy();
    return;
  }
  const { status, error } = refusalOf(thrown);
  const body = JSON.stringify(errorBody(error, requestId));
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
      'connection: close',
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${requestId}`,
      '',
      body,
    ].join('\r\n'),
    () => socket.destroySoon(),
  );
}
