import {
  noMetrics,
  requireOptions,
  type Runnable,
  silentLogger,
  StatusError,
  systemClock,
  systemRandom,
} from '../base/index.js';
import { baseDescriptors, SchemaRegistry } from '../rpc/index.js';
import {
  type ApiServerOptions,
  type ListenAddresses,
  serverRules,
  type ServerRunnableOptions,
} from './api-server-options.js';
import type { ApiParts } from './methods/api-parts.js';
import {
  type Authentication,
  Authenticator,
  Authorizer,
  type Identity,
  rightsChanges,
} from './auth/index.js';
import { authMethods } from './methods/auth-methods.js';
import { connectionDefaults } from './transport/connections.js';
import { castMethod } from './methods/cast-method.js';
import { Dispatcher } from './chain/dispatcher.js';
import { FailureDelay } from './chain/failure-delay.js';
import { healthMethods } from './methods/health-methods.js';
import { reflectionMethod } from './methods/reflection-method.js';
import { GrpcServer } from './grpc/server.js';
import { InputSchemas } from './schema/input-schemas.js';
import { methodTable } from '../rpc/index.js';
import { ValidatedWrites } from './admission/validated-writes.js';
import { throughAncestors } from './api/object-access.js';
import { ExposedKinds } from './objects/exposed-kinds.js';
import { objectMethods } from './objects/object-service.js';
import { recordKinds } from './objects/record-kinds.js';
import { Resources } from './objects/resources.js';
import { RestServer } from './rest/server.js';
import { Sessions } from './chain/sessions.js';
import { WaitingBytes } from './transport/paced-writes.js';
import { withGrants } from './admission/user-grants.js';
import { WritePlanner } from './admission/write-planner.js';
import { Admission } from './admission/admission.js';

const closeGraceMs = 2_000;

/**
 * Packages that are served over gRPC only: health and reflection of gRPC itself, and the objects of all kinds for
 * other processes.
 */
const protocolPackages = ['grpc.health.v1', 'grpc.reflection.v1', 'kedge'];

/**
 * gRPC and REST for kinds, over one chain.
 *
 * Guarantees:
 * - Both transports refuse the same requests. Only methods that are declared anonymous work without a token.
 * - Unknown fields are refused, and status fields in creations and updates are ignored. All violations of the shape are
 *   reported at once, or else all of the rules.
 * - Rules that read other objects hold in the commit: if their reads changed, the write is validated again.
 *
 * Ordering: a caller is authenticated before anything of the request is read; then come authorization, validation,
 * admission and the commit. A watch delivers changes in the order of the store.
 *
 * Errors: invalid options throw a TypeError from the constructor. `listen` rejects when an address can't be bound, and
 * then neither transport listens. Errors that are not a StatusError are answered as Internal, without their text.
 *
 * Caveats: a client that does not read gets backpressure. Without `tls` tokens are sent in the clear. Closing the
 * server ends all streams, and does not close the store.
 *
 * @example
 * import { ApiServer, describeKinds, mount } from 'kedge/server';
 *
 * const api = describeKinds('home.v1', [mount(lamps, { on: 'boolean', lit: 'boolean' })]);
 * await using server = new ApiServer({ store, ...api });
 * const local = { host: '127.0.0.1', port: 0 };
 * const ports = await server.listen({ grpc: local, rest: local });
 * console.log('gRPC', ports.grpc, 'REST', ports.rest);
 */
export class ApiServer {
  readonly #grpc: GrpcServer;
  readonly #rest: RestServer;
  readonly #sessions: Sessions;
  readonly #builtIn: Authenticator | undefined;

  /** @throws TypeError that names an invalid option */
  constructor(options: ApiServerOptions) {
    requireOptions('ApiServer', options, serverRules);
    const { store, schemas, packageName } = options;
    const objectAccess = options.objectAccess && throughAncestors(options.objectAccess);
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
    const writes = new ValidatedWrites({ store, admission, clock, random, beforeCommit });
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
      changes: authenticator.recheck && ((signal) => rightsChanges(store, signal, nodes)),
      clock,
      logger,
    });
    const kinds = options.kinds.map((kind) => kind.kind);
    const methods = [
      ...methodTable(schemas, packageName, kinds),
      ...protocolPackages.flatMap((name) => methodTable(base, name, [])),
    ];
    const requireUnnarrowed = (identity: Identity): void => {
      if (!objectAccess?.filterFor(identity)) return;
      throw new StatusError({
        code: 'PermissionDenied',
        reason: 'PermissionDenied',
        message: `${identity.subject} is permitted to access only its own objects, one at a time`,
      });
    };
    const ownMethods = [
      ...authMethods(parts),
      castMethod({ ...parts, requireUnnarrowed }),
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

  /**
   * Binds both transports; port 0 picks a free port. Resolves to the ports.
   * @throws the system's error if an address can't be used; neither transport listens then
   */
  async listen(addresses: ListenAddresses): Promise<{ grpc: number; rest: number }> {
    // Grants are bound before clients can call.
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
   * Returns the server as a runnable of a manager: it listens from the manager's start, on every candidate of an
   * election, and closes within the manager's stop budget. Add it last, so that it starts last and closes first.
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
   * Accepts no more connections, ends streams, and cuts calls that are not finished after `graceMs` milliseconds;
   * default 2 s.
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
