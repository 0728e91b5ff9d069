import { AsyncLocalStorage } from 'node:async_hooks';
import { DriverError } from '@kedge/driver-sdk';
import { Fields, type ProviderClient } from '@kedge/driver-sdk/provider';
import type { Authorizations } from './authorization.js';
import type { Identity } from './credentials.js';
import type {
  Answer,
  ComputeSdk,
  DisksSdk,
  InstancesSdk,
  OperationsSdk,
  ReplyParts,
  RequestAuth,
  RequestParts,
  SnapshotsSdk,
  Started,
} from './sdk.js';

/** The context of the provider calls within one driver call. */
export interface Caller {
  readonly identity: Identity;
  /** Uid of the volume or snapshot, for the call journal; `check` for calls for a class. */
  readonly about: string;
  readonly signal: AbortSignal;
}

/** The clients of the SDK. They hold no credential: each request takes that of its call. */
export interface Clients {
  readonly disks: DisksSdk;
  readonly instances: InstancesSdk;
  readonly snapshots: SnapshotsSdk;
  readonly zoneOperations: OperationsSdk;
  readonly globalOperations: OperationsSdk;
}

/** A call in progress. */
interface Running {
  readonly caller: Caller;
  /** Name of the call, such as `insertDisk`. */
  readonly name: string;
  /** Why its request failed. The SDK does not pass every error on unchanged. */
  error?: DriverError;
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * Calls of the SDK. The SDK knows paths, fields and forms; the requests themselves are made by a {@link ProviderClient},
 * because the SDK has no deadline (googleapis/gax-nodejs#1302): its clients get an authentication client whose `fetch`
 * finds the call by the asynchronous context.
 */
export class Session {
  readonly #running = new AsyncLocalStorage<Running>();
  readonly #client: ProviderClient;
  readonly #authorizations: Authorizations;
  readonly #sdk: () => ComputeSdk;
  #clients: Clients | undefined;

  constructor(client: ProviderClient, authorizations: Authorizations, sdk: () => ComputeSdk) {
    this.#client = client;
    this.#authorizations = authorizations;
    this.#sdk = sdk;
  }

  #made(): Clients {
    if (this.#clients) return this.#clients;
    const authClient: RequestAuth = {
      getRequestHeaders: () => Promise.resolve(new Headers()),
      fetch: (url, init) => this.#send(url, init),
    };
    // Endpoint and credential are those of the request; the universe of the environment would contradict them.
    const options = { authClient, universeDomain: 'googleapis.com' };
    const sdk = this.#sdk();
    this.#clients = {
      disks: new sdk.DisksClient(options),
      instances: new sdk.InstancesClient(options),
      snapshots: new sdk.SnapshotsClient(options),
      zoneOperations: new sdk.ZoneOperationsClient(options),
      globalOperations: new sdk.GlobalOperationsClient(options),
    };
    return this.#clients;
  }

  async #send(url: string, { method, body }: RequestParts): Promise<ReplyParts> {
    const running = this.#running.getStore();
    if (!running) throw new Error('a client of the SDK made a request outside of a call');
    const { caller, name } = running;
    const { identity, about, signal } = caller;
    const { pathname, searchParams } = new URL(url);
    const text = body === undefined ? '' : Buffer.from(body).toString('utf8');
    try {
      const { token, headers } = await this.#authorizations.of(identity, signal);
      const answer = await this.#client.call({
        name,
        method: method as Method,
        path: pathname,
        ...(searchParams.size === 0 ? {} : { query: Object.fromEntries(searchParams) }),
        ...(text === '' ? {} : { body: JSON.parse(text) as Readonly<Record<string, unknown>> }),
        headers,
        token,
        credential: identity.id,
        about,
        signal,
      });
      const bytes = Buffer.from(JSON.stringify(answer ?? {}));
      return { ok: true, status: 200, arrayBuffer: () => Promise.resolve(bytes) };
    } catch (thrown) {
      running.error = DriverError.from(thrown);
      throw new Error(running.error.message);
    }
  }

  async #run<T>(
    caller: Caller,
    name: string,
    changes: boolean,
    call: (clients: Clients) => Promise<T>,
  ): Promise<T> {
    const clients = this.#made();
    const running: Running = { caller, name };
    try {
      return await this.#running.run(running, () => call(clients));
    } catch (thrown) {
      if (running.error) throw running.error;
      const { message } = thrown as Error;
      // The SDK could not read the answer.
      throw new DriverError(
        changes ? 'Timeout' : 'Unavailable',
        `the answer to ${name} has an unexpected form: ${message}`,
        { cause: thrown },
      );
    }
  }

  /** Makes a read and returns its answer. @throws DriverError */
  async read(caller: Caller, name: string, call: (clients: Clients) => Answer): Promise<Fields> {
    const [answer] = await this.#run(caller, name, false, call);
    return new Fields(name, answer, false);
  }

  /** Makes a list request and returns its body. @throws DriverError */
  async page(caller: Caller, name: string, call: (clients: Clients) => Answer): Promise<Fields> {
    const [, , body] = await this.#run(caller, name, false, call);
    return new Fields(name, body, false);
  }

  /** Starts an operation and returns its record. @throws DriverError */
  async start(caller: Caller, name: string, call: (clients: Clients) => Started): Promise<Fields> {
    const [{ latestResponse }] = await this.#run(caller, name, true, call);
    return new Fields(name, latestResponse, true);
  }
}
