import {
  type Clock,
  demandOptions,
  type Logger,
  type Metrics,
  noMetrics,
  portRules,
  type Random,
  type Runnable,
  silentLogger,
  someText,
  StatusError,
  storeRule,
  systemClock,
  systemRandom,
  withMethods,
} from '../base/index.js';
import type { AnyKind } from '../object/index.js';
import { baseDescriptors, SchemaRegistry } from '../rpc/index.js';
import type { ObjectStore } from '../store/index.js';
import type { ServedKind } from './api/served-kind.js';
import type { ApiParts } from './methods/api-parts.js';
import type { AuditSink } from './api/audit.js';
import {
  type AccessControl,
  type Authentication,
  Authenticator,
  Authorizer,
  type Identity,
  rightsChanges,
} from './auth/index.js';
import { authMethods } from './methods/auth-methods.js';
import type { CustomMethod } from './api/call.js';
import { type ConnectionBounds, connectionDefaults } from './transport/connections.js';
import { castMethod } from './methods/cast-method.js';
import { Dispatcher } from './chain/dispatcher.js';
import { FailureDelay } from './chain/failure-delay.js';
import { healthMethods } from './methods/health-methods.js';
import { reflectionMethod } from './methods/reflection-method.js';
import { GrpcServer } from './grpc/server.js';
import { InputSchemas } from './schema/input-schemas.js';
import { methodTable } from '../rpc/index.js';
import type { Comments } from './schema/openapi.js';
import { JudgedWrites, type PendingCommit } from './admission/judged-writes.js';
import { type ObjectAccess, throughMakers } from './api/object-access.js';
import { ExposedKinds } from './objects/exposed-kinds.js';
import { objectMethods } from './objects/object-service.js';
import { recordKinds } from './objects/record-kinds.js';
import { Resources } from './objects/resources.js';
import { RestServer } from './rest/server.js';
import { Sessions } from './chain/sessions.js';
import { WaitingBytes } from './transport/paced-writes.js';
import type { TlsSource } from './transport/tls.js';
import { withGrants } from './admission/user-grants.js';
import { WritePlanner } from './admission/write-planner.js';
import { Admission } from './admission/admission.js';

const rules = {
  store: storeRule,
  schemas: withMethods('a SchemaRegistry', 'services'),
  packageName: someText('the protobuf package of the services'),
  kinds: { give: 'a list of what serve() or mount() returns', fits: Array.isArray },
  ...portRules,
};

/** Options of an API server. */
export interface ApiServerOptions {
  readonly store: ObjectStore;
  readonly schemas: SchemaRegistry;
  /** Protobuf package whose services are served. */
  readonly packageName: string;
  readonly kinds: readonly ServedKind[];
  /** Methods outside of the CRUD pattern; created from the server's parts. */
  readonly custom?: (parts: ApiParts) => readonly CustomMethod[];
  /** Default: bearer tokens kept in the store. */
  readonly authenticator?: Authentication;
  /** Default: policies kept in the store. */
  readonly authorizer?: AccessControl;
  /** Narrows what policies allow, object by object. */
  readonly objectAccess?: ObjectAccess;
  /**
   * The kind of nodes of node accounts: an account belongs to one node object, not to a later one of the same name.
   */
  readonly nodes?: AnyKind;
  /** The kind whose objects are the namespaces. Objects are refused in a namespace without one; default: in none. */
  readonly namespaces?: AnyKind;
  /** Gets a record of every call. */
  readonly audit?: AuditSink;
  /** Certificates; absent: in the clear. */
  readonly tls?: TlsSource;
  /** Allowed CORS origins of REST; absent or empty: none. */
  readonly corsOrigins?: readonly string[];
  /** Bounds on the connections of each transport; what is left out has its default. */
  readonly connections?: Partial<ConnectionBounds>;
  /** Comments of methods, messages and fields for the OpenAPI document, by full name. */
  readonly comments?: () => Promise<Comments>;
  /** The state of the gRPC health service; default: always serving. */
  readonly serving?: () => boolean;
  /** Awaited between validation and commit of a write, for tests of races. */
  readonly beforeCommit?: (pending: PendingCommit) => Promise<void>;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
}

/** The listening addresses of the transports. */
export interface ListenAddresses {
  readonly grpc: { readonly host: string; readonly port: number };
  readonly rest: { readonly host: string; readonly port: number };
}

/** The server as a part of a manager. */
export interface ServerRunnableOptions {
  /** In the manager's health and errors; default `api`. */
  readonly name?: string;
  /** Called with the ports when both transports listen; port 0 is replaced by the actual one. */
  readonly onListening?: (ports: { readonly grpc: number; readonly rest: number }) => void;
}

const closeGraceMs = 2_000;

/** Over gRPC only: health and reflection of gRPC itself, and the objects of all kinds for other processes. */
const protocolPackages = ['grpc.health.v1', 'grpc.reflection.v1', 'kedge'];

/** gRPC and REST over one chain. */
export class ApiServer {
  readonly #grpc: GrpcServer;
  readonly #rest: RestServer;
  readonly #sessions: Sessions;
  readonly #builtIn: Authenticator | undefined;

  /** @throws TypeError naming an option that can't be one */
  constructor(options: ApiServerOptions) {
    demandOptions('ApiServer', options, rules);
    const { store, schemas, packageName } = options;
    const objectAccess = options.objectAccess && throughMakers(options.objectAccess);
    const clock = options.clock ?? systemClock;
    const random = options.random ?? systemRandom;
    const logger = options.logger ?? silentLogger;
    const { nodes } = options;
    const servedKinds = options.kinds.map((kind) => withGrants(kind, nodes));
    const served = new Map(servedKinds.map((kind) => [kind.kind.kind, kind]));
    const namespaces = options.namespaces && served.get(options.namespaces.kind);
    const inputs = new InputSchemas(schemas);
    const base = new SchemaRegistry(baseDescriptors);
    const authorizer = options.authorizer ?? new Authorizer(store);
    const admission = new Admission({
      store,
      authorizer,
      objectAccess,
      schemas,
      inputs,
      served,
      base,
      namespaces,
      clock,
    });
    const { beforeCommit } = options;
    const writes = new JudgedWrites({ store, admission, clock, random, beforeCommit });
    const planner = new WritePlanner({ admission, objectAccess });
    const resources = new Resources({
      store,
      admission,
      planner,
      writes,
      authorizer,
      clock,
      objectAccess,
      namespaces,
    });
    const parts: ApiParts = { store, admission, writes, authorizer, resources, served, clock };
    const authenticator: Authentication =
      options.authenticator ?? new Authenticator({ store, clock, logger, nodes });
    this.#builtIn = authenticator instanceof Authenticator ? authenticator : undefined;
    this.#sessions = new Sessions({
      authenticator,
      authorizer,
      changes: this.#builtIn && ((signal) => rightsChanges(store, signal, nodes)),
      clock,
      logger,
    });
    const kinds = options.kinds.map((kind) => kind.kind);
    const methods = [
      ...methodTable(schemas, packageName, kinds),
      ...protocolPackages.flatMap((name) => methodTable(base, name, [])),
    ];
    const demandUnnarrowed = (identity: Identity): void => {
      if (!objectAccess?.filterFor(identity)) return;
      throw new StatusError({
        code: 'PermissionDenied',
        reason: 'PermissionDenied',
        message: `${identity.subject} is permitted to access only its own objects, one at a time`,
      });
    };
    const ownMethods = [
      ...authMethods(parts),
      castMethod({ ...parts, demandUnnarrowed }),
      ...healthMethods({
        services: () => methods.map((method) => method.grpcPath.split('/')[1] ?? ''),
        serving: options.serving ?? (() => true),
        clock,
      }),
      reflectionMethod([
        { schemas, packages: [packageName], comments: options.comments },
        { schemas: base, packages: protocolPackages },
      ]),
      ...(options.custom?.(parts) ?? []),
    ];
    const customIds = new Set(ownMethods.map(({ id }) => id));
    const records = recordKinds.filter(({ kind }) => !served.has(kind.kind));
    const exposed = new ExposedKinds({ served, records, methods, customIds });
    const dispatcher = new Dispatcher({
      methods,
      served,
      custom: [...ownMethods, ...objectMethods({ ...parts, planner, kinds: exposed })],
      authenticator,
      authorizer,
      objectAccess,
      resources,
      sessions: this.#sessions,
      failureDelay: new FailureDelay(clock),
      audit: options.audit,
      metrics: options.metrics ?? noMetrics,
      clock,
    });
    const metrics = options.metrics ?? noMetrics;
    const bounds = { ...connectionDefaults, ...options.connections };
    const transport = {
      dispatcher,
      schemas,
      logger,
      random,
      clock,
      metrics,
      bounds,
      waiting: new WaitingBytes(),
      tls: options.tls,
    };
    this.#grpc = new GrpcServer(transport);
    this.#rest = new RestServer({
      ...transport,
      corsOrigins: options.corsOrigins ?? [],
      comments: options.comments,
    });
  }

  /** Binds both transports; port 0 picks a free one. Resolves to the ports. */
  async listen(addresses: ListenAddresses): Promise<{ grpc: number; rest: number }> {
    // Before anybody can call.
    await this.#builtIn?.bindGrants();
    const grpc = await this.#grpc.listen(addresses.grpc.host, addresses.grpc.port);
    try {
      const rest = await this.#rest.listen(addresses.rest.host, addresses.rest.port);
      return { grpc, rest };
    } catch (error) {
      await this.#grpc.close(0);
      throw error;
    }
  }

  /**
   * The server as a runnable of a manager: it listens from the manager's start, on every candidate of an election,
   * and closes within the manager's stop budget. Add it last, so that it starts last and closes first.
   *
   * @example
   * manager.addRunnable(server.runnable({ grpc, rest }, { onListening: (ports) => ready(ports) }));
   */
  runnable(addresses: ListenAddresses, options: ServerRunnableOptions = {}): Runnable {
    const { name = 'api', onListening } = options;
    return {
      name,
      needsLeaderElection: false,
      start: async () => {
        const ports = await this.listen(addresses);
        onListening?.(ports);
      },
      stop: (budgetMs) => this.close(Math.min(closeGraceMs, budgetMs)),
    };
  }

  /**
   * Takes no more connections, ends streams, and lets calls finish for `graceMs` milliseconds before
   * they are cut; default 2 s.
   */
  async close(graceMs = closeGraceMs): Promise<void> {
    await Promise.all([this.#grpc.close(graceMs), this.#rest.close(graceMs)]);
    this.#sessions.close();
    await this.#builtIn?.flush();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
