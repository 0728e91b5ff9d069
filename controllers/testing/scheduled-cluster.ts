import {
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  seededRandom,
  silentLogger,
} from 'kedge';
import { FakeClock, settle } from 'kedge/testing';
import { type Instance, instances } from '../instance/kind.js';
import { type Node, nodes } from '../node/kind.js';
import { defaultPolicy } from '../policy/policy.js';
import { placeInstance, type VolumeConstraint } from '../placement/index.js';
import { schedulerController } from '../scheduler/index.js';
import { volumeOfMount } from '../references/claim.js';
import { storageClasses } from '../storage-class/kind.js';
import { volumes } from '../volume/kind.js';
import { PlayedDriver } from './played-driver.js';

const namespace = 'default';
const zone = 'svc.io/zone';

/** A store with a scheduler. Changes of objects trigger it, and the timers of {@link clock}, such as the end of a nomination. */
export class ScheduledCluster {
  /** Instances that the scheduler read in a commit, one entry per run. */
  readonly runs: string[] = [];

  readonly store: ObjectStore;
  readonly clock: FakeClock;
  readonly #manager: Manager;

  private constructor(store: ObjectStore, clock: FakeClock, manager: Manager) {
    this.store = store;
    this.clock = clock;
    this.#manager = manager;
  }

  /**
   * Starts a cluster with a driver whose parameter `zone` names the zone of a volume.
   * @param requiresZone whether a volume has a zone at its provider, so that a parameter or a node names it
   */
  static async start(requiresZone = false): Promise<ScheduledCluster> {
    const driver = new PlayedDriver();
    driver.placeParameters = { [zone]: ['zone'] };
    if (requiresZone) driver.requiredTopologyKeys = [zone];
    const clock = new FakeClock();
    const random = seededRandom(1);
    const store = await openStore({ engine: new MemoryEngine(), clock });
    const manager = new Manager({ store, clock, random });
    const cluster = new ScheduledCluster(store, clock, manager);
    const counting = new Proxy(store, {
      get: (target, property): unknown => {
        const value: unknown = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        const method = value.bind(target) as (...given: unknown[]) => unknown;
        if (property !== 'get') return method;
        return (kind: { kind: string }, key: { name: string }) => {
          if (kind.kind === 'Instance') cluster.runs.push(key.name);
          return method(kind, key);
        };
      },
    });
    const drivers = driver.registry();
    const ports = { manager, clock, random, logger: silentLogger, policy: defaultPolicy, drivers };
    manager.addController(schedulerController({ ...ports, store: counting }));
    await manager.start();
    return cluster;
  }

  async stop(): Promise<void> {
    const stopping = this.#manager.stop(0);
    await this.clock.advance(10_000);
    await stopping;
    await this.store.close();
  }

  async node(name: string, spec: Partial<Node> = {}): Promise<void> {
    await this.store.create(nodes, { name, status: 'Ready', ...spec });
  }

  async instance(name: string, template: Instance['template']): Promise<void> {
    await this.store.create(instances, { namespace, name, service: name, ordinal: 0, template });
    await settle();
  }

  /** Removes an instance, as its agent does at the end. */
  async end(name: string): Promise<void> {
    const found = await this.store.get(instances, { namespace, name });
    if (!found) throw new Error(`there is no instance ${name}`);
    await this.store.update(instances, {
      ...found,
      metadata: { ...found.metadata, finalizers: [] },
    });
    await this.store.deleteByName(instances, { namespace, name });
  }

  async volume(name: string, storageClassName = 'c'): Promise<void> {
    const spec = { size: '1Gi', accessMode: 'ReadWriteOnce' } as const;
    await this.store.create(volumes, { namespace, name, storageClassName, ...spec });
  }

  async at(name: string, topology: Readonly<Record<string, string>>): Promise<void> {
    await this.store.updateStatus(volumes, { namespace, name }, { handle: 'h', topology });
  }

  /** Creates or changes a class so that it permits only one zone by `allowedTopologies`. */
  async classIn(name: string, value: string): Promise<void> {
    const allowedTopologies = [{ matchLabels: { [zone]: value } }];
    const found = await this.store.get(storageClasses, { name });
    if (found) await this.store.update(storageClasses, { ...found, allowedTopologies });
    else await this.store.create(storageClasses, { name, driver: 'd', allowedTopologies });
  }

  /** Creates or changes a class so that its parameter `zone` names a zone. */
  async classNaming(name: string, value: string): Promise<void> {
    const spec = { driver: 'played', parameters: { zone: value } };
    const found = await this.store.get(storageClasses, { name });
    if (found) await this.store.update(storageClasses, { ...found, ...spec });
    else await this.store.create(storageClasses, { name, ...spec });
  }

  async nodeOf(name: string): Promise<string | undefined> {
    await settle();
    return (await this.store.get(instances, { namespace, name }))?.node;
  }

  /** Unplaced instances that a full scan would place now. */
  async forgotten(): Promise<readonly string[]> {
    await settle();
    const all = (await this.store.list(nodes)).items;
    const placed = (await this.store.list(instances)).items;
    const found: string[] = [];
    for (const instance of (await this.store.list(instances)).items) {
      const constraints: VolumeConstraint[] = [];
      for (const mount of instance.template.volumes ?? []) {
        const key = volumeOfMount(mount, namespace, instance.service, instance.ordinal);
        const volume = key && (await this.store.get(volumes, key));
        if (!volume) continue;
        const name = volume.storageClassName;
        constraints.push({ volume, storageClass: await this.store.get(storageClasses, { name }) });
      }
      if (
        instance.node === undefined &&
        placeInstance(instance, all, constraints, ({ name }) =>
          placed.filter((i) => i.node === name),
        ).type === 'node'
      )
        found.push(instance.name);
    }
    return found;
  }
}
