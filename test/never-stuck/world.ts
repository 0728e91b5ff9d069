import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Logger,
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  seededRandom,
  silentLogger,
} from 'kedge';
import { SchemaRegistry } from 'kedge/rpc';
import { accessControl, ApiServer } from 'kedge/server';
import { FakeClock, settle } from 'kedge/testing';
import { descriptorSet } from '@kedge/api';
import type { DriverRegistry } from '@kedge/driver-sdk';
import {
  dataFilesDirectory,
  defaultPolicy,
  instanceController,
  type KeyRotation,
  type ParameterResolver,
  loadKindsApi,
  namespaceController,
  namespaces,
  nodeController,
  parameterResolver,
  schedulerController,
  Sealer,
  secrets,
  seedNamespaces,
  serviceController,
  snapshotController,
  UsedParameters,
  volumeController,
} from '@kedge/controllers';
import { KillableStore } from './killable-store.js';
import { Machine } from './machine.js';
import { Provider } from './provider.js';
import { addNode } from './world-node.js';

/** An answer of the REST API. */
export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

type Labels = Readonly<Record<string, string>>;

/** Parts of a world that a test chooses. */
export interface WorldOptions {
  readonly clock?: FakeClock;
  /** The drivers of a process. Default: those of {@link Provider}. */
  readonly registry?: (part: 'control' | NodeName) => DriverRegistry;
  /** Labels of the nodes, or of each node. */
  readonly labels?: Labels | ((node: NodeName) => Labels);
  readonly logger?: Logger;
  readonly engine?: MemoryEngine;
  /** Nodes keep the parameters of mounts in files, which a killed process leaves. Default: in this process. */
  readonly usedInFiles?: boolean;
}

/** A process that can be killed. */
interface Running {
  readonly killable: KillableStore;
  readonly manager: Manager;
}

const schemas = new SchemaRegistry(descriptorSet);
const kindsApi = await loadKindsApi();
const sealer = new Sealer(Buffer.alloc(32));
/** Time passes in steps of this length, each with some turns for file operations. */
const chunkMs = 5_000;
const fileRounds = 3;
/** Nodes with an agent. */
export const nodeNames = ['n1', 'n2'] as const;
export type NodeName = (typeof nodeNames)[number];

/**
 * The complete system in one process under a fake clock: the API with all rules over a memory store, the
 * controllers, two nodes with their agents, and a provider of disks. Each part can be killed separately.
 */
export class World {
  readonly clock: FakeClock;
  readonly provider = new Provider();
  readonly machines: Readonly<Record<NodeName, Machine>> = { n1: new Machine(), n2: new Machine() };
  /** Reads of an object by controllers and agents, by kind and key. */
  readonly looks = new Map<string, number>();
  readonly #used: Readonly<Record<NodeName, UsedParameters>> = {
    n1: new UsedParameters(),
    n2: new UsedParameters(),
  };
  readonly #running = new Map<'control' | NodeName, Running>();
  /** Holds the files of the nodes. */
  readonly directory: string;
  readonly #options: WorldOptions;
  readonly #store: ObjectStore;
  readonly #api: ApiServer;
  #port = 0;

  private constructor(
    store: ObjectStore,
    directory: string,
    clock: FakeClock,
    world: WorldOptions,
  ) {
    this.clock = clock;
    this.#options = world;
    this.#store = store;
    this.directory = directory;
    const options = {
      drivers: this.#drivers('control'),
      sealer,
      resolver: {} as ParameterResolver,
      here: 'n1',
      clusterId: 'cluster',
      runtimes: [this.machines.n1.runtime(() => clock.now())],
      defaultStorageClass: undefined,
      backups: {
        store: { backup: () => Promise.reject(new Error('no backups')) },
        keyPlace: '',
      },
      rotation: { rotate: () => Promise.reject(new Error('no keys')) } as unknown as KeyRotation,
      clock,
    };
    this.#api = new ApiServer({
      store,
      schemas,
      packageName: 'api',
      namespaces,
      kinds: kindsApi.servedKinds(options),
      custom: (parts) => kindsApi.customMethods(parts, options),
      authenticator: {
        authenticate: () =>
          Promise.resolve({
            subject: 'root',
            kind: 'user',
            policies: [],
            tokenId: '',
            expiresAt: undefined,
            node: undefined,
          }),
      },
      authorizer: accessControl(() => true),
      clock,
    });
  }

  static async start(options: WorldOptions = {}): Promise<World> {
    const { clock = new FakeClock(), engine = new MemoryEngine() } = options;
    const store = await openStore({ engine, clock });
    await seedNamespaces(store);
    const world = new World(
      store,
      await mkdtemp(join(tmpdir(), 'kedge-never-stuck-')),
      clock,
      options,
    );
    const free = { host: '127.0.0.1', port: 0 };
    world.#port = (await world.#api.listen({ rest: free, grpc: free })).rest;
    await world.boot('control');
    for (const node of nodeNames) await world.boot(node);
    await settle();
    return world;
  }

  #drivers(part: 'control' | NodeName): DriverRegistry {
    return this.#options.registry?.(part) ?? this.provider.registry();
  }

  get #logger(): Logger {
    return this.#options.logger ?? silentLogger;
  }

  /** Starts the controllers, or a node. */
  async boot(part: 'control' | NodeName): Promise<void> {
    const { clock } = this;
    const killable = new KillableStore(this.#store, this.looks);
    const { store } = killable;
    const random = seededRandom(1);
    const manager = new Manager({ store, clock, random });
    const resolver = parameterResolver(manager.informer(secrets).lister, sealer);
    const drivers = this.#drivers(part);
    const common = {
      store,
      manager,
      clock,
      random,
      logger: this.#logger,
      drivers,
      resolver,
      policy: defaultPolicy,
    };
    if (part === 'control') {
      const node = 'control';
      manager
        .addController(namespaceController(common))
        .addController(volumeController({ ...common, node }))
        .addController(snapshotController({ ...common, node }))
        .addController(serviceController(common))
        .addController(schedulerController(common))
        .addController(nodeController(common))
        .addController(instanceController(common));
    } else {
      const directory = join(this.directory, part);
      const { labels: of = {} } = this.#options;
      const labels = typeof of === 'function' ? of(part) : of;
      const used = this.#usedOf(part, directory);
      const runtime = this.machines[part].runtime(() => clock.now());
      addNode({ ...common, node: part, used, directory, labels, runtime, sealer });
    }
    this.#running.set(part, { killable, manager });
    await manager.start();
  }

  #usedOf(name: NodeName, directory: string): UsedParameters {
    if (this.#options.usedInFiles !== true) return this.#used[name];
    return new UsedParameters({ directory: join(directory, 'used'), sealer, logger: this.#logger });
  }

  /** Equivalent to SIGTERM: a graceful stop, which may take `budgetMs`. */
  async end(part: 'control' | NodeName, budgetMs = 30_000): Promise<void> {
    const running = this.#running.get(part);
    this.#running.delete(part);
    let isOver = false;
    const stopping = running?.manager.stop(budgetMs).finally(() => (isOver = true));
    while (!isOver && stopping) await this.advance(1_000);
    await stopping;
  }

  /** Equivalent to SIGKILL: no further calls or writes. */
  kill(part: 'control' | NodeName): void {
    const running = this.#running.get(part);
    running?.killable.kill();
    this.#running.delete(part);
    // Its watches and timers end with it.
    void running?.manager.stop(0).catch(() => undefined);
  }

  isUp(part: 'control' | NodeName): boolean {
    return this.#running.has(part);
  }

  /** Kills all running parts with SIGKILL and starts them again. */
  async restart(): Promise<void> {
    const parts = [...this.#running.keys()];
    for (const part of parts) this.kill(part);
    for (const part of parts) await this.boot(part);
    await settle();
  }

  /** Advances time; file operations complete in between. */
  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= chunkMs) {
      await this.clock.advance(Math.min(left, chunkMs));
      for (let round = 0; round < fileRounds; round += 1) await readFile('/proc/self/mountinfo');
    }
  }

  async rest(method: string, path: string, body?: object): Promise<Answer> {
    const asked = fetch(`http://127.0.0.1:${this.#port}/v1${path}`, {
      method,
      headers: { authorization: 'Bearer root', 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const response = await asked;
    return { status: response.status, body: (await response.json()) as Answer['body'] };
  }

  /** As {@link rest}, for requests that must succeed. */
  async ok(method: string, path: string, body?: object): Promise<Answer['body']> {
    const { status, body: answer } = await this.rest(method, path, body);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer;
  }

  /** The object at a path; undefined if there is none. */
  async get(path: string): Promise<Answer['body'] | undefined> {
    const { status, body } = await this.rest('GET', path);
    return status === 404 ? undefined : body;
  }

  async stop(): Promise<void> {
    for (const part of [...this.#running.keys()]) this.kill(part);
    await this.advance(60_000);
    await this.#api.close(0);
    await this.#store.close();
    for (const name of nodeNames)
      await rm(dataFilesDirectory(join(this.directory, name)), { recursive: true, force: true });
    await rm(this.directory, { recursive: true, force: true });
  }
}
