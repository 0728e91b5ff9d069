import { type Case, isBefore } from './cases.js';
import { ownerVariable } from './machine.js';
import { nodeTopologyKey } from '@kedge/driver-sdk';
import { driverName, nodeDriverName } from './provider.js';
import { type Answer, nodeNames, type World } from './world.js';

/** One action of a case. Time advances after the same step of all cases. */
export type Step = () => Promise<unknown>;

type Json = Readonly<Record<string, unknown>>;

/**
 * The objects of one case, in a separate namespace and with a separate class, so that many cases share a world.
 * The names of the objects in the namespace are the same in all scenes.
 */
export class Scene {
  readonly world: World;
  readonly one: Case;
  readonly namespace: string;

  constructor(world: World, one: Case, number: number) {
    this.world = world;
    this.one = one;
    this.namespace = `c${number}`;
  }

  get storageClass(): string {
    return `fast-${this.namespace}`;
  }

  /** A path in the namespace. */
  path(rest: string): string {
    return `/namespaces/${this.namespace}${rest}`;
  }

  get(rest: string): Promise<Answer['body'] | undefined> {
    return this.world.get(this.path(rest));
  }

  make(plural: string, body: Json): Promise<Answer> {
    return this.world.rest('POST', this.path(`/${plural}`), body);
  }

  /** @throws Error if it is refused */
  async made(plural: string, body: Json): Promise<void> {
    await this.world.ok('POST', this.path(`/${plural}`), body);
  }

  remove(rest: string): Promise<Answer> {
    return this.world.rest('DELETE', this.path(rest));
  }

  /** Reads, changes and puts an object. */
  async change(path: string, change: (object: Json) => Json): Promise<Answer> {
    const object = await this.world.get(path);
    if (!object) return { status: 404, body: { message: `${path} does not exist` } };
    return this.world.rest('PUT', path, change(object));
  }

  async makeNamespace(): Promise<void> {
    await this.world.ok('POST', '/namespaces', { name: this.namespace });
  }

  /** @param open whether the class allows a node */
  async makeClass(open = true): Promise<void> {
    await this.world.ok('POST', '/storageclasses', {
      name: this.storageClass,
      reclaimPolicy: 'delete',
      ...(this.#isOnNode
        ? { driver: nodeDriverName }
        : { driver: driverName, parameters: { token: 'secret:token/key' } }),
      allowedTopologies: open ? this.#allowed : this.nowhere,
    });
  }

  /** Whether its data is permanently on a node. */
  get #isOnNode(): boolean {
    return this.one.broken.to === 'home';
  }

  /** Whether a class of data on a node allows no node except n1. */
  get isAlone(): boolean {
    const { broken, action } = this.one;
    return isBefore(broken) || action === 'restart' || action === 'return';
  }

  /** Nodes that the class allows. */
  get #allowed(): readonly Json[] {
    if (!this.#isOnNode) return [];
    const names = this.isAlone ? ['n1'] : nodeNames;
    return names.map((name) => ({ matchLabels: { [nodeTopologyKey]: name } }));
  }

  get nowhere(): readonly Json[] {
    return [{ matchLabels: { zone: `zone-of-${this.namespace}` } }];
  }

  /** Sets whether the class allows nodes. No-op for a class that does not exist. @throws Error if it is refused */
  async openClass(open: boolean): Promise<void> {
    const allowedTopologies = open ? this.#allowed : this.nowhere;
    const path = `/storageclasses/${this.storageClass}`;
    const { status, body } = await this.change(path, (found) => ({ ...found, allowedTopologies }));
    if (status !== 200 && status !== 404) throw new Error(`${path}: ${JSON.stringify(body)}`);
  }

  /** @param right with the required key */
  async makeSecret(name: string, right = true): Promise<void> {
    await this.make('secrets', { name, data: right ? { key: 'value' } : { other: 'value' } });
  }

  async makeConfigmap(right = true): Promise<void> {
    const data = right ? { key: 'value' } : { other: 'value' };
    await this.make('configmaps', { name: 'conf', data });
  }

  makeVolume(name: string, more: Json = {}): Promise<Answer> {
    return this.make('volumes', {
      name,
      storageClassName: this.storageClass,
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      ...more,
    });
  }

  makeSnapshot(): Promise<Answer> {
    return this.make('snapshots', { name: 'snap', source: { volume: 'base' } });
  }

  /** A service `web` with a claim on `v`, or with `template` with a new volume for each replica. */
  makeService({ template = false, scale = 1, policy = 'delete', more = {} } = {}): Promise<Answer> {
    const source = template
      ? {
          claimTemplate: {
            storageClassName: this.storageClass,
            size: '1Gi',
            accessMode: 'ReadWriteOnce',
            reclaimPolicy: policy,
          },
        }
      : { claim: { name: 'v' } };
    const items = [{ key: 'key', path: 'file' }];
    return this.make('services', {
      name: 'web',
      runtime: 'container',
      image: 'web',
      scale,
      env: { [ownerVariable]: this.namespace },
      envFrom: [{ secret: 'settings' }, { configmap: 'conf' }],
      volumes: [{ name: 'data', mountPath: '/data', ...source }],
      secretMounts: [{ name: 'settings', mountPath: '/secret', items }],
      configmapMounts: [{ name: 'conf', mountPath: '/conf', items }],
      ...more,
    });
  }

  /** Runs an action on every machine, such as one that sets a fault for workloads of this scene. */
  onMachines(act: (machine: World['machines'][(typeof nodeNames)[number]]) => void): void {
    for (const name of nodeNames) act(this.world.machines[name]);
  }
}
