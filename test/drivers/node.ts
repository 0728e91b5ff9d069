import { join } from 'node:path';
import {
  type Logger,
  Manager,
  type ObjectStore,
  silentLogger,
  systemClock,
  systemRandom,
} from 'kedge';
import { eventually } from 'kedge/testing';
import { type Driver, nodeHost, type RunCommand } from '@kedge/driver-sdk';
import {
  defaultPolicy,
  claimOf,
  type Instance,
  parameterResolver,
  Sealer,
  secrets,
  type Snapshot,
  snapshots,
  snapshotController,
  storageClasses,
  type Volume,
  volumeController,
  volumeFinalizer,
  VolumeManager,
  type VolumeMount,
  volumes,
} from '@kedge/controllers';

/** Options of a {@link TestNode}. */
export interface TestNodeOptions {
  readonly store: ObjectStore;
  readonly driver: Driver;
  readonly directory: string;
  readonly run?: RunCommand;
  readonly logger?: Logger;
}

/** An instance with one mount of a volume. */
export function instanceOf(name: string): Instance {
  return {
    name,
    namespace: 'default',
    service: name,
    ordinal: 0,
    template: {},
    metadata: { uid: name, resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' },
  };
}

/** The volume and snapshot controllers and the volume manager of one node, without workloads. */
export class TestNode {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly volumeManager: VolumeManager;
  readonly mountRoot: string;

  constructor(options: TestNodeOptions) {
    const { store, driver, directory } = options;
    this.store = store;
    this.mountRoot = join(directory, 'mounts');
    const common = {
      store,
      node: 'n1',
      clock: systemClock,
      random: systemRandom,
      logger: options.logger ?? silentLogger,
      policy: defaultPolicy,
    };
    this.manager = new Manager({ store });
    const drivers = { names: [driver.name], get: () => Promise.resolve(driver) };
    const lister = this.manager.informer(secrets).lister;
    const resolver = parameterResolver(lister, new Sealer(Buffer.alloc(32)));
    const parts = { ...common, manager: this.manager, drivers, resolver };
    this.volumeManager = new VolumeManager({
      ...parts,
      mountRoot: this.mountRoot,
      ...(options.run ? { host: nodeHost(options.run) } : {}),
    });
    this.manager.addController(volumeController(parts)).addController(snapshotController(parts));
  }

  async start(): Promise<this> {
    await this.manager.start();
    await this.volumeManager.adopt();
    return this;
  }

  async volume(name: string): Promise<Volume | undefined> {
    return this.store.get(volumes, { namespace: 'default', name });
  }

  /** Creates a volume with these parameters and waits until it is Available. */
  async make(name: string, size: string, parameters: Record<string, string> = {}): Promise<Volume> {
    const driver = 'loop-block';
    await this.store
      .create(storageClasses, { name: 'block', driver, reclaimPolicy: 'delete' })
      .catch(() => undefined);
    await this.store.create(volumes, {
      name,
      namespace: 'default',
      storageClassName: 'block',
      size,
      accessMode: 'ReadWriteOnce',
      parameters,
      metadata: { finalizers: [volumeFinalizer] },
    });
    return this.until(name, (volume) => volume?.status === 'Available');
  }

  async until(name: string, holds: (volume: Volume | undefined) => boolean): Promise<Volume> {
    await eventually(`volume ${name}`, async () => holds(await this.volume(name)), 60_000);
    return (await this.volume(name))!;
  }

  async snapshot(name: string): Promise<Snapshot | undefined> {
    return this.store.get(snapshots, { namespace: 'default', name });
  }

  /** The directory of a volume for an instance. @throws Error with the awaited condition */
  async mount(
    instance: string,
    volume: string,
    more: Partial<VolumeMount> & { readonly name?: string } = {},
  ): Promise<string> {
    const mount = { name: 'data', mountPath: '/data', claim: { name: volume }, ...more };
    const outcome = await this.volumeManager.ensure(instanceOf(instance), mount as VolumeMount);
    if (outcome.type === 'mounted') return outcome.mount.source;
    throw new Error(`${outcome.reason}: ${outcome.message}`);
  }

  async release(instance: string): Promise<void> {
    await this.volumeManager.releaseAll(claimOf(instanceOf(instance)));
  }

  async stop(): Promise<void> {
    await this.manager.stop(1_000);
  }
}
