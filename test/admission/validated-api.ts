import { descriptorSet } from '@kedge/api';
import {
  type KeyRotation,
  type ParameterResolver,
  loadKindsApi,
  namespaces,
  Sealer,
  storageClasses,
} from '@kedge/controllers';
import { builtinDrivers } from '@kedge/drivers';
import {
  type AnyKind,
  type Clock,
  hasCode,
  MemoryEngine,
  type ObjectKey,
  type ObjectStore,
  type Operation,
  openStore,
  systemClock,
} from 'kedge';
import { RemoteStore } from 'kedge/client';
import { SchemaRegistry } from 'kedge/rpc';
import {
  type Access,
  accessControl,
  ApiServer,
  type Identity,
  type PendingCommit,
} from 'kedge/server';

/** An answer of the REST API. */
export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** A write that was validated and waits for its commit. */
export interface HeldWrite {
  /** Resolves when the write was validated and waits for {@link release}. */
  readonly judged: Promise<void>;
  release(): void;
}

/** Selects checks of a transaction by the kind and the index that they read. */
export interface CheckOf {
  readonly kind: string;
  /** The index of a kind check; absent for object checks and kinds without an index. */
  readonly index?: string;
  /** Also the checks of the objects that were found, because the rule reads their status. */
  readonly withObjects?: true;
}

/** Options of a {@link ValidatedApi}. */
export interface ValidatedApiOptions {
  readonly clock?: Clock;
  /** Checks to remove from all transactions, as if the rule that needs them had not recorded its read. */
  readonly without?: CheckOf;
  /** Receives every required right. */
  readonly authorizing?: (access: Access) => void;
  /** Receives the key of every namespaced object and the namespace of every list that is read. */
  readonly touching?: (key: Partial<ObjectKey>) => void;
  /** Refuses each commit with Aborted while it returns true. */
  readonly contended?: () => boolean;
}

const clerkMay = new Set(['users', 'volumes', 'services', 'snapshots', 'tokens', 'storageclasses']);
/** Methods of a store that take a kind, and then a key or a selection. */
const readers = new Set(['get', 'list', 'watch']);
const schemas = new SchemaRegistry(descriptorSet);
const kindsApi = await loadKindsApi();

/**
 * The API of the daemon with the rules of all kinds over a memory store, without controllers. The tests control
 * what happens between a validation and its commit.
 */
export class ValidatedApi {
  readonly store: ObjectStore;
  /** Refused commits by code. Callers do not see them, because their writes are validated again. */
  readonly refusedCommits: string[] = [];
  /** Attempts of every commit. */
  readonly attempts: number[] = [];
  readonly #server: ApiServer;
  #holding: ((pending: PendingCommit) => Promise<void>) | undefined;
  #rest = 0;
  #grpc = 0;

  private constructor(store: ObjectStore, options: ValidatedApiOptions) {
    this.store = store;
    const { clock = systemClock } = options;
    const settings = {
      localVolumeRoot: '/nonexistent',
      hostPathAllowlist: ['/data'],
      allowCreateMissing: false,
    };
    const api = {
      drivers: builtinDrivers(settings),
      sealer: new Sealer(Buffer.alloc(32)),
      resolver: {} as ParameterResolver,
      here: 'n',
      clusterId: 'cluster',
      runtimes: [],
      defaultStorageClass: undefined,
      backups: {
        store: { backup: () => Promise.reject(new Error('no backups')) },
        keyPlace: '',
      },
      rotation: { rotate: () => Promise.reject(new Error('no keys')) } as unknown as KeyRotation,
      clock,
    };
    this.#server = new ApiServer({
      store: this.#watched(options),
      schemas,
      packageName: 'api',
      namespaces,
      kinds: kindsApi.servedKinds(api),
      custom: (parts) => kindsApi.customMethods(parts, api),
      authenticator: { authenticate: (header) => Promise.resolve(identityOf(header)) },
      // A clerk may write only these kinds; other users have all rights.
      authorizer: accessControl(({ subject }, access) => {
        options.authorizing?.(access);
        return subject !== 'clerk' || clerkMay.has(access.resource);
      }),
      beforeCommit: async (pending) => {
        this.attempts.push(pending.attempt);
        await this.#holding?.(pending);
      },
      clock,
    });
  }

  static async start(options: ValidatedApiOptions = {}): Promise<ValidatedApi> {
    const store = await openStore({ engine: new MemoryEngine() });
    await store.create(namespaces, { name: 'default' });
    await store.create(storageClasses, { name: 'local', driver: 'local', reclaimPolicy: 'retain' });
    const api = new ValidatedApi(store, options);
    const free = { host: '127.0.0.1', port: 0 };
    const ports = await api.#server.listen({ grpc: free, rest: free });
    api.#rest = ports.rest;
    api.#grpc = ports.grpc;
    return api;
  }

  #watched({ without, contended, touching }: ValidatedApiOptions): ObjectStore {
    const { store, refusedCommits } = this;
    const transact = async (operations: readonly Operation[]) => {
      const kept = operations.filter((operation) => !without || !isAbout(operation, without));
      try {
        if (contended?.() === true && operations.length > 0)
          await store.transact([
            {
              op: 'check',
              kind: namespaces,
              key: { name: 'default' },
              precondition: { uid: 'another' },
            },
          ]);
        const results = await store.transact(kept);
        // One result per operation: those of the removed checks come first.
        return [...operations.slice(kept.length).map(() => results[0]), ...results];
      } catch (error) {
        refusedCommits.push(hasCode(error, 'Aborted') ? 'Aborted' : String(error));
        throw error;
      }
    };
    return new Proxy(store, {
      get: (target, name) => {
        if (name === 'transact') return transact;
        const value: unknown = Reflect.get(target, name, target);
        if (touching && typeof value === 'function' && readers.has(String(name)))
          return (kind: AnyKind, asked: Partial<ObjectKey>, ...more: unknown[]): unknown => {
            if (kind.scope === 'Namespaced') touching(asked);
            return value.call(target, kind, asked, ...more) as unknown;
          };
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  }

  async rest(method: string, path: string, body?: object, token = 'root'): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${this.#rest}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return {
      status: response.status,
      body: (await response.json()) as Record<string, unknown>,
    };
  }

  /** As {@link rest}, for requests that must succeed. */
  async ok(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const answer = await this.rest(method, path, body);
    if (answer.status !== 200)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** The store as seen from another process. */
  remote(token = 'root'): Promise<RemoteStore> {
    return RemoteStore.connect({ server: this.grpcAddress, token });
  }

  /** Port of the REST API on the loopback address. */
  get restPort(): number {
    return this.#rest;
  }

  /** The address of the gRPC API. */
  get grpcAddress(): string {
    return `127.0.0.1:${this.#grpc}`;
  }

  /** Holds the next write between its first validation and its commit. */
  hold(): HeldWrite {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const judged = new Promise<void>((resolve) => {
      this.#holding = async () => {
        this.#holding = undefined;
        resolve();
        await released;
      };
    });
    return { judged, release };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close(0);
    await this.store.close();
  }
}

function isAbout(operation: Operation, { kind, index, withObjects }: CheckOf): boolean {
  if (operation.kind.kind !== kind) return false;
  if (operation.op === 'checkKind') return operation.index === index;
  return operation.op === 'check' && (index === undefined || withObjects === true);
}

function identityOf(header: string | undefined): Identity {
  const subject = header?.replace('Bearer ', '') ?? 'nobody';
  return {
    subject,
    kind: 'user',
    policies: [],
    tokenId: '',
    expiresAt: undefined,
    node: undefined,
  };
}
