import { randomBytes } from 'node:crypto';
import {
  type Controller,
  type EmbeddedStore,
  type Logger,
  Manager,
  MemoryEngine,
  type NewObject,
  type ObjectStore,
  openStore,
  seededRandom,
} from 'kedge';
import { FakeClock, settle } from 'kedge/testing';
import { type UsedParameters, VolumeManager } from '../agent/index.js';
import type { Instance } from '../instance/kind.js';
import { secrets } from '../secret/kind.js';
import { services } from '../service/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { type Volume, volumes } from '../volume/kind.js';
import { parameterResolver, placeOf, Sealer } from '../secret/index.js';
import { defaultPolicy } from '../policy/policy.js';
import { schedulerController } from '../scheduler/index.js';
import { snapshotController } from '../snapshot/index.js';
import { volumeController, volumeFinalizer } from '../volume/index.js';
import { type Part } from '../provisioned/calling-process.js';
import { PlayedDriver } from './played-driver.js';

/** Options of a world. */
export interface StorageWorldOptions {
  /** Default: no logs. */
  readonly logger?: Logger;
  /** Creates the storage of used parameters at each start. Default: in memory. */
  readonly used?: () => UsedParameters;
  /** Wraps the store for the controllers. Default: no wrapper. */
  readonly seenBy?: (store: ObjectStore) => ObjectStore;
  /** The part of the controllers to run, on node `n`. Default: `cluster`. */
  readonly part?: Part;
  /** An engine with a restored store, whose objects the world continues with. Default: an empty one. */
  readonly engine?: MemoryEngine;
  /** Errors of the driver's calls from the start. Default: none. */
  readonly failsOn?: PlayedDriver['failsOn'];
  /** Whether instances are placed. Default: no. */
  readonly scheduler?: boolean;
}

/**
 * The controllers of volumes and snapshots and the volume manager of a node, with a real store, a fake driver and a
 * fake clock.
 */
export class StorageWorld {
  readonly clock = new FakeClock();
  readonly driver = new PlayedDriver();
  readonly sealer = new Sealer(randomBytes(32));
  readonly #options: StorageWorldOptions;
  #store: EmbeddedStore | undefined;
  #manager: Manager | undefined;
  #volumes: Controller | undefined;
  #volumeManager: VolumeManager | undefined;

  private constructor(options: StorageWorldOptions) {
    this.#options = options;
  }

  /** Starts a world with a class `c`, whose reclaim policy is delete. */
  static async start(options: StorageWorldOptions = {}): Promise<StorageWorld> {
    const world = new StorageWorld(options);
    const { engine, failsOn = {} } = options;
    world.driver.failsOn = failsOn;
    world.#store = await openStore({ engine: engine ?? new MemoryEngine(), clock: world.clock });
    if (!engine)
      await world.store.create(storageClasses, {
        name: 'c',
        driver: 'played',
        reclaimPolicy: 'delete',
      });
    await world.#run();
    return world;
  }

  get store(): EmbeddedStore {
    return present(this.#store);
  }

  /** The runs of the volume reconciler since the last start. */
  get volumeRuns(): number {
    return present(this.#volumes).stats().reconciles;
  }

  get volumeManager(): VolumeManager {
    return present(this.#volumeManager);
  }

  async #run(): Promise<void> {
    const { clock, driver, sealer } = this;
    const { logger, used, seenBy, part = 'cluster', scheduler = false } = this.#options;
    const store = seenBy ? seenBy(this.store) : this.store;
    const random = seededRandom(1);
    const manager = new Manager({ store, clock, random });
    const common = {
      store,
      manager,
      clock,
      random,
      logger: logger ?? silent,
      policy: defaultPolicy,
      node: 'n',
      part,
      drivers: driver.registry(),
      resolver: parameterResolver(manager.informer(secrets).lister, sealer),
    };
    this.#volumes = volumeController(common);
    manager.addController(this.#volumes).addController(snapshotController(common));
    if (scheduler) manager.addController(schedulerController(common));
    this.#volumeManager = new VolumeManager({
      ...common,
      mountRoot: '/mounts',
      mayMount: false,
      ...(used ? { used: used() } : {}),
    });
    this.#manager = manager;
    await manager.start();
    await settle();
  }

  /** Restarts like a killed daemon: the store is kept, state in memory is lost. */
  async restart(): Promise<void> {
    await this.#stopManager();
    await this.#run();
  }

  /** Like {@link restart}, while a driver call hangs. */
  async restartDuringCall(): Promise<void> {
    // The run with the call is abandoned.
    const stopping = present(this.#manager)
      .stop(0)
      .catch(() => undefined);
    await this.clock.advance(10_000);
    await stopping;
    await this.#run();
  }

  async #stopManager(): Promise<void> {
    const stopping = present(this.#manager).stop(0);
    await this.clock.advance(10_000);
    await stopping;
  }

  async stop(): Promise<void> {
    await this.#stopManager();
    await this.store.close();
  }

  /** Creates volume `default/v` of 1 GiB in class `c`, with the fields of `more`. */
  async createVolume(more: Partial<NewObject<Volume>> = {}): Promise<void> {
    await this.store.create(volumes, {
      namespace: 'default',
      name: 'v',
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      metadata: { finalizers: [volumeFinalizer] },
      ...more,
    });
    await settle();
  }

  async volume(name = 'v'): Promise<Volume | undefined> {
    return this.store.get(volumes, { namespace: 'default', name });
  }

  async deleteVolume(name = 'v'): Promise<void> {
    await this.store.deleteByName(volumes, { namespace: 'default', name });
    await settle();
  }

  /** Creates a service without instances. */
  async createService(name: string): Promise<void> {
    await this.store.create(services, { namespace: 'default', name, scale: 1 });
    await settle();
  }

  async deleteService(name: string): Promise<void> {
    await this.store.deleteByName(services, { namespace: 'default', name });
    await settle();
  }

  /** Creates or replaces the secret `default/<name>` with one key, `key`. */
  async writeSecret(name: string, value: string): Promise<void> {
    const key = { namespace: 'default', name };
    const before = await this.store.get(secrets, key);
    const place = { ...key, version: (before?.version ?? 0) + 1 };
    const data = { key: this.sealer.seal(value, placeOf(place, 'key')) };
    if (before) await this.store.update(secrets, { ...before, ...place, data });
    else await this.store.create(secrets, { ...place, data });
    await settle();
  }

  async deleteSecret(name: string): Promise<void> {
    await this.store.deleteByName(secrets, { namespace: 'default', name });
    await settle();
  }
}

/** Replica 0 of a service, with the fields that the volume manager reads. */
export function instanceOf(service: string): Instance {
  const metadata = {
    uid: service,
    resourceVersion: '1',
    generation: 1,
    createdAt: '',
    updatedAt: '',
  };
  return { name: service, namespace: 'default', service, ordinal: 0, template: {}, metadata };
}

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new TypeError('the world is not started');
  return value;
}
