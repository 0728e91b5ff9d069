import { request } from 'node:http';
import { join } from 'node:path';
import { DriverError, type DriverErrorKind } from '@kedge/driver-sdk';

/** A request of the provider's interface. */
export interface ProviderRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  readonly key?: string;
  readonly signal?: AbortSignal;
}

interface Reply {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Error kinds by the provider's code; others are Internal. */
const kinds: Readonly<Record<string, DriverErrorKind>> = {
  not_found: 'NotFound',
  in_use: 'InUse',
  busy: 'InUse',
  forbidden: 'PermissionDenied',
  throttled: 'Throttled',
  key_used: 'AlreadyExists',
};

/** Calls of a provider in another process. */
export class ProviderClient {
  readonly #socket: string;

  constructor(folder: string) {
    this.#socket = join(folder, 'provider.sock');
  }

  /** @throws DriverError Unavailable without an answer, Timeout if it was aborted, or the kind of the error answer */
  async call<T>(asked: ProviderRequest): Promise<T> {
    const { status, retryAfter, body } = await this.#send(asked).catch((cause: Error) => {
      const kind = asked.signal?.aborted === true ? 'Timeout' : 'Unavailable';
      throw new DriverError(kind, `the provider does not answer: ${cause.message}`, { cause });
    });
    if (status === 200) return body as T;
    const code = String(body['code']);
    const wait = retryAfter === undefined ? {} : { retryAfterMs: Number(retryAfter) * 1_000 };
    throw new DriverError(kinds[code] ?? 'Internal', `${code}: ${String(body['message'])}`, wait);
  }

  #send({ method, path, body, key, signal }: ProviderRequest): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const headers = key === undefined ? {} : { 'idempotency-key': key };
      const sent = request(
        {
          socketPath: this.#socket,
          method,
          path,
          headers,
          agent: false,
          ...(signal ? { signal } : {}),
        },
        (response) => {
          let text = '';
          response.on('data', (chunk) => (text += String(chunk)));
          response.on('error', reject);
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              retryAfter: response.headers['retry-after'],
              body: JSON.parse(text) as Reply['body'],
            }),
          );
        },
      );
      sent.on('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}
