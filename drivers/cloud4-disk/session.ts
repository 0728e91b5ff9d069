import { AsyncLocalStorage } from 'node:async_hooks';
import { DriverError } from '@kedge/driver-sdk';
import { answerUnreadable } from '@kedge/driver-sdk/messages';
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
  readonly send: (url: string, init: RequestParts) => Promise<ReplyParts>;
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** The calls in progress of all sessions, found by the requests that the SDK makes for them. */
const running = new AsyncLocalStorage<Running>();

const authClient: RequestAuth = {
  getRequestHeaders: () => Promise.resolve(new Headers()),
  fetch: async (url, init) => {
    const call = running.getStore();
    if (!call) throw new Error('a client of the SDK made a request outside of a call');
    return call.send(url, init);
  },
};

/** The clients of an SDK by its module. The construction of one blocks the process for a while. */
const clientsOf = new WeakMap<ComputeSdk, Clients>();

function madeClients(sdk: ComputeSdk): Clients {
  // Endpoint and credential are those of the request; the universe of the environment would contradict them.
  const options = { authClient, universeDomain: 'googleapis.com' };
  const made: Partial<{ -readonly [K in keyof Clients]: Clients[K] }> = {};
  return {
    get disks() {
      return (made.disks ??= new sdk.DisksClient(options));
    },
    get instances() {
      return (made.instances ??= new sdk.InstancesClient(options));
    },
    get snapshots() {
      return (made.snapshots ??= new sdk.SnapshotsClient(options));
    },
    get zoneOperations() {
      return (made.zoneOperations ??= new sdk.ZoneOperationsClient(options));
    },
    get globalOperations() {
      return (made.globalOperations ??= new sdk.GlobalOperationsClient(options));
    },
  };
}

/**
 * Calls of the SDK. The SDK knows paths, fields and forms; the requests themselves are made by a
 * {@link ProviderClient}, because the SDK has no deadline (googleapis/gax-nodejs#1302): its clients get an
 * authentication client whose `fetch` finds the call by the asynchronous context.
 */
export class Session {
  readonly #client: ProviderClient;
  readonly #authorizations: Authorizations;
  readonly #sdk: () => ComputeSdk;

  constructor(client: ProviderClient, authorizations: Authorizations, sdk: () => ComputeSdk) {
    this.#client = client;
    this.#authorizations = authorizations;
    this.#sdk = sdk;
  }

  #made(): Clients {
    const sdk = this.#sdk();
    const clients = clientsOf.get(sdk) ?? madeClients(sdk);
    clientsOf.set(sdk, clients);
    return clients;
  }

  async #send(
    { identity, about, signal }: Caller,
    name: string,
    url: string,
    { method, body }: RequestParts,
  ): Promise<ReplyParts> {
    const { pathname, searchParams } = new URL(url);
    const text = body === undefined ? '' : Buffer.from(body).toString('utf8');
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
  }

  async #run<T>(
    caller: Caller,
    name: string,
    changes: boolean,
    call: (clients: Clients) => Promise<T>,
  ): Promise<T> {
    const clients = this.#made();
    // The SDK does not pass every error on unchanged.
    let error: DriverError | undefined;
    const send: Running['send'] = (url, init) =>
      this.#send(caller, name, url, init).catch((thrown: unknown) => {
        error = DriverError.from(thrown);
        throw new Error(error.message);
      });
    try {
      return await running.run({ send }, () => call(clients));
    } catch (thrown) {
      if (error) throw error;
      // The SDK could not read the answer.
      throw new DriverError(
        changes ? 'Timeout' : 'Unavailable',
        `${name}: ${answerUnreadable.format()} ${(thrown as Error).message}`,
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
