import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

/** An HTTP request to a provider. */
export interface TransportRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** The answer of a provider. */
export interface TransportReply {
  readonly status: number;
  /** Headers by their names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

/** The failure of a request that got no complete answer. */
export class TransportError extends Error {
  /** Whether the provider may have received the request. */
  readonly sent: boolean;

  constructor(message: string, sent: boolean) {
    super(message);
    this.name = 'TransportError';
    this.sent = sent;
  }
}

/** Whether an error of a call was that no host has the name of its endpoint. */
export function isHostUnknown(thrown: unknown): boolean {
  if (thrown instanceof TransportError) return thrown.message === 'ENOTFOUND';
  return thrown instanceof Error && thrown.cause !== undefined && isHostUnknown(thrown.cause);
}

/** Sends a request and returns its answer, of any status. @throws TransportError without a complete answer */
export type Transport = (request: TransportRequest) => Promise<TransportReply>;

const bodyBytesMax = 1024 * 1024;

/** Codes of errors that occur before a connection exists, so that the provider can't have received the request. */
const unsent = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
]);

function textOf(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    response.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > bodyBytesMax) {
        response.destroy();
        reject(new TransportError(`the answer is longer than ${bodyBytesMax} bytes`, true));
      } else parts.push(part);
    });
    response.on('error', ({ message }) => reject(new TransportError(message, true)));
    response.on('close', () => {
      if (!response.complete) reject(new TransportError('the answer was cut off', true));
    });
    response.on('end', () => resolve(Buffer.concat(parts).toString('utf8')));
  });
}

function headersOf({ headers }: IncomingMessage): TransportReply['headers'] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
}

/**
 * Creates a transport over HTTP and HTTPS, which keeps connections open for later requests. It follows no redirect,
 * makes no retry, and fails for an answer of more than 1 MiB.
 */
export function httpTransport(): Transport {
  const options = { keepAlive: true, maxFreeSockets: 4 };
  const agents = { http: new HttpAgent(options), https: new HttpsAgent(options) };
  return ({ method, url, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const secure = url.protocol === 'https:';
      const send = secure ? httpsRequest : httpRequest;
      const length =
        body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const sent = send(
        url,
        {
          method,
          headers: { ...headers, ...length },
          agent: secure ? agents.https : agents.http,
          signal,
        },
        (response) => {
          void textOf(response).then(
            (text) =>
              resolve({ status: response.statusCode ?? 0, headers: headersOf(response), text }),
            reject,
          );
        },
      );
      sent.on('error', (error: NodeJS.ErrnoException) =>
        reject(new TransportError(error.code ?? error.message, !unsent.has(error.code ?? ''))),
      );
      sent.end(body);
    });
}
