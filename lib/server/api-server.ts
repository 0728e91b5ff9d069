import {
  type Clock,
  type Logger,
  type Random,
  silentLogger,
  StatusError,
  systemClock,
  systemRandom,
} from '../base/index.js';
import { isJsonObject, type SchemaRegistry } from '../rpc/index.js';
import type { ObjectStore } from '../store/index.js';
import type { ServedKind } from './admission.js';
import {
  type AccessControl,
  type Authentication,
  Authenticator,
  Authorizer,
  bootstrap,
  issueToken,
  makeToken,
  type Token,
  tokens,
} from './auth/index.js';
import type { CustomMethod } from './call.js';
import { castMethod } from './cast.js';
import { Dispatcher } from './dispatcher.js';
import { GrpcServer } from './grpc-server.js';
import { InputSchemas } from './input.js';
import { methodTable } from '../rpc/index.js';
import { Resources } from './resources.js';
import { RestServer } from './rest-server.js';
import { Admission } from './writes.js';

/** What an API server serves: everything is data. */
export interface ApiServerOptions {
  readonly store: ObjectStore;
  readonly schemas: SchemaRegistry;
  /** Protobuf package whose services are served. */
  readonly packageName: string;
  readonly kinds: readonly ServedKind[];
  /** Methods that do not follow the CRUD pattern; made with the parts they may need. */
  readonly custom?: (parts: ApiParts) => readonly CustomMethod[];
  /** Default: bearer tokens kept in the store. */
  readonly authenticator?: Authentication;
  /** Default: policies kept in the store. */
  readonly authorizer?: AccessControl;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
}

/** Parts that custom methods build on. */
export interface ApiParts {
  readonly store: ObjectStore;
  readonly admission: Admission;
  readonly authorizer: AccessControl;
  readonly resources: Resources;
  readonly served: ReadonlyMap<string, ServedKind>;
}

/** Where the transports listen. */
export interface ListenAddresses {
  readonly grpc: { readonly host: string; readonly port: number };
  readonly rest: { readonly host: string; readonly port: number };
}

/** gRPC and REST over one chain. */
export class ApiServer {
  readonly #options: ApiServerOptions;
  readonly #grpc: GrpcServer;
  readonly #rest: RestServer;

  constructor(options: ApiServerOptions) {
    this.#options = options;
    const { store, schemas } = options;
    const clock = options.clock ?? systemClock;
    const random = options.random ?? systemRandom;
    const logger = options.logger ?? silentLogger;
    const served = new Map(options.kinds.map((kind) => [kind.kind.kind, kind]));
    const inputs = new InputSchemas(schemas);
    const authorizer = options.authorizer ?? new Authorizer(store);
    const admission = new Admission({
      store,
      authorizer,
      schemas,
      inputs,
      served,
      namespaceKind: 'Namespace',
    });
    const resources = new Resources({
      store,
      admission,
      authorizer,
      namespaces: served.get('Namespace'),
    });
    const parts = { store, admission, authorizer, resources, served };
    const dispatcher = new Dispatcher({
      methods: methodTable(
        schemas,
        options.packageName,
        options.kinds.map((kind) => kind.kind),
      ),
      served,
      custom: [
        ...authMethods(store, clock, admission, served),
        castMethod(parts),
        ...(options.custom?.(parts) ?? []),
      ],
      authenticator: options.authenticator ?? new Authenticator(store, clock),
      authorizer,
      resources,
    });
    const transport = { dispatcher, schemas, logger, random };
    this.#grpc = new GrpcServer(transport);
    this.#rest = new RestServer(transport);
  }

  /** Binds both transports; port 0 picks a free one. Resolves to the ports. */
  async listen(addresses: ListenAddresses): Promise<{ grpc: number; rest: number }> {
    const grpc = await this.#grpc.listen(addresses.grpc.host, addresses.grpc.port);
    try {
      const rest = await this.#rest.listen(addresses.rest.host, addresses.rest.port);
      return { grpc, rest };
    } catch (error) {
      await this.#grpc.close(0);
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#grpc.close(), this.#rest.close()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Bootstrap, whoami, and tokens, whose text is answered once and never stored. */
function authMethods(
  store: ObjectStore,
  clock: Clock,
  admission: Admission,
  served: ReadonlyMap<string, ServedKind>,
): readonly CustomMethod[] {
  return [
    {
      id: 'AdminService.Bootstrap',
      access: { type: 'anonymous' },
      handler: {
        type: 'unary',
        call: async ({ peer }) => {
          if (!peer.loopback)
            throw new StatusError({
              code: 'PermissionDenied',
              reason: 'LoopbackOnly',
              message: 'bootstrap is answered on the machine itself only',
            });
          return { subject: 'root', token: await bootstrap(store) };
        },
      },
    },
    {
      id: 'AuthService.WhoAmI',
      access: { type: 'authenticated' },
      handler: {
        type: 'unary',
        call: ({ identity }) => Promise.resolve({ ...identity }),
      },
    },
    {
      id: 'AuthService.CreateToken',
      access: { type: 'policy', resource: 'tokens', verb: 'create', scope: 'Cluster' },
      handler: {
        type: 'unary',
        call: async ({ identity }, request) => {
          const kind = served.get(tokens.kind);
          if (!kind) throw new TypeError('tokens are not served');
          const material = makeToken();
          const object = isJsonObject(request.token) ? request.token : {};
          const [write] = await admission.prepare(identity, [
            { served: kind, namespace: undefined, name: material.id, object, mode: 'create' },
          ]);
          const asked = write?.object as Token;
          const made = await issueToken(store, asked, clock.now(), material);
          return { ...made.object, token: made.text };
        },
      },
    },
  ];
}
