import { isDeleting, keyString, type Lister, type ObjectStore } from 'kedge';
import { type Instance, instances } from '../../instance/kind.js';
import type { Node } from '../../node/kind.js';
import { mountedVolumes } from '../../references/claim.js';
import {
  isSettled,
  type NominationSources,
  occupantsOf,
  placeInstance,
  type VolumeConstraint,
  withFitting,
} from '../../placement/index.js';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { type StorageClass } from '../../storage-class/kind.js';
import { namedTopology } from '../../storage-class/topology.js';
import { type Volume } from '../kind.js';
import type { ExpectedPlacements } from './expected-placements.js';
import { isNeedy } from '../../resources/index.js';

type Labels = Readonly<Record<string, string>>;

/** The objects that decide where the users of a volume can run. */
export interface UserSources extends NominationSources {
  readonly nodes: readonly Node[];
  readonly volumes: Lister<Volume>;
  readonly classes: Lister<StorageClass>;
  readonly instances: Lister<Instance>;
  readonly expected: ExpectedPlacements;
  /** The present time by the monotonic clock, milliseconds. */
  readonly now: number;
  /** The places that parameters of the users' other volumes name, by uid. */
  readonly named: ReadonlyMap<string, Labels>;
}

/**
 * The constraints of the other volumes of an instance. A volume that is being provisioned counts as provisioned, so
 * that two volumes of an instance do not choose different places.
 */
function constraintsBeside(
  volume: Volume,
  instance: Instance,
  { volumes, classes, named }: UserSources,
): readonly VolumeConstraint[] {
  return mountedVolumes(instance).flatMap((key) => {
    const other = volumes.get(key);
    if (!other || other.metadata.uid === volume.metadata.uid) return [];
    const storageClass = classes.get(other.storageClassName);
    const { namespace, name, topology = {}, handle = '' } = other;
    const settled = isSettled(other) ? handle || 'in progress' : '';
    const labels = named.get(other.metadata.uid) ?? {};
    return [
      {
        volume: { namespace, name, topology, handle: settled },
        storageClass,
        // A secret reference is resolved when the provisioning of its volume starts: until then it decides nothing.
        named: { labels, references: {} },
      },
    ];
  });
}

const ready: NonNullable<Node['status']> = 'Ready';

/** The places that parameters of the unprovisioned volumes of some instances name, by uid of the volume. */
export async function namedPlaces(
  users: readonly Instance[],
  {
    volumes,
    classes,
    drivers,
  }: Pick<UserSources, 'volumes' | 'classes'> & { readonly drivers: Pick<DriverRegistry, 'get'> },
): Promise<ReadonlyMap<string, Labels>> {
  const named = new Map<string, Labels>();
  for (const key of new Set(users.flatMap(mountedVolumes))) {
    const volume = volumes.get(key);
    const storageClass = volume && classes.get(volume.storageClassName);
    if (!storageClass || volume.handle) continue;
    const driver = await drivers.get(volume.driver || storageClass.driver);
    const parameters = {
      ...storageClass.parameters,
      ...volume.parameters,
      ...volume.driverParameters,
    };
    const { placeParameters } = driver?.capabilities() ?? {};
    named.set(volume.metadata.uid, namedTopology(parameters, placeParameters).labels);
  }
  return named;
}

/** A node as the placement sees it now. */
function asIs(node: Node): Node {
  return node;
}

/** A node as the placement sees it once it is Ready. Nothing is written. */
function whenReady(node: Node): Node {
  return { ...node, status: ready, unschedulable: false };
}

/**
 * The instances that mount a volume. Read from the store, because the cache may lack an instance that was created
 * together with the volume.
 */
export async function usersOf(
  { namespace, name }: Volume,
  store: ObjectStore,
): Promise<readonly Instance[]> {
  const mounting = { index: 'mounts', value: keyString({ namespace, name }) } as const;
  const { items } = await store.list(instances, mounting);
  return items.filter((instance) => !isDeleting(instance));
}

/** An instance that mounts a volume, with the nodes on which it can run. */
export interface UserNodes {
  readonly instance: Instance;
  readonly nodes: readonly Node[];
}

/**
 * For each user of a volume, the nodes on which it can run according to everything except this volume. If it can run on
 * none now, those on which it can run later: a provisioned volume never moves, and the instance could not start
 * elsewhere. A node with room that is not Ready, or is cordoned, comes before a Ready one whose room other instances
 * take. Instances that no node permits are omitted.
 */
export function nodesOfUsers(
  volume: Volume,
  users: readonly Instance[],
  sources: UserSources,
): readonly UserNodes[] {
  const placedOn = ({ name }: Node): readonly Instance[] =>
    sources.instances.byIndex('takesFrom', name).filter(({ node }) => node === name);
  return users
    .map((instance) => ({ instance, nodes: nodesOf(instance) }))
    .filter((user) => user.nodes.length > 0);

  function nodesOf(instance: Instance): readonly Node[] {
    if (instance.node !== undefined)
      return sources.nodes.filter(({ name }) => name === instance.node);
    const beside = constraintsBeside(volume, instance, sources);
    const nodesWith = (
      seen: (node: Node) => Node,
      taken?: (node: Node) => readonly Instance[],
    ): readonly Node[] =>
      sources.nodes.filter(
        (node) => placeInstance(instance, [seen(node)], beside, taken).type === 'node',
      );
    const all = placedAndNominated(instance, sources);
    const choices = [
      () => nodesWith(asIs, all),
      () => nodesWith(whenReady, all),
      () => nodesWith(asIs, placedOn),
      () => nodesWith(whenReady),
    ];
    for (const choice of choices) {
      const found = choice();
      if (found.length > 0) return found;
    }
    return [];
  }
}

/** The number of users of a volume for which some nodes have room at the same time, in their order. */
export function fittingTogether(
  users: readonly UserNodes[],
  nodes: readonly Node[],
  sources: UserSources,
): number {
  const among = new Set(nodes);
  const assigned = new Map<Node, Instance[]>();
  let count = 0;
  for (const { instance, nodes: usable } of users) {
    const taken = placedAndNominated(instance, sources);
    const node = usable.find((each) => {
      if (!among.has(each)) return false;
      if (instance.node !== undefined) return true;
      return hasRoom(instance, each, withFitting(each, taken(each), assigned.get(each) ?? []));
    });
    if (!node) continue;
    count += 1;
    if (instance.node === undefined) assigned.set(node, [...(assigned.get(node) ?? []), instance]);
  }
  return count;
}

/**
 * The instances whose room on a node another instance can't take: those that run there or are nominated, and those that
 * are being nominated.
 */
function placedAndNominated(instance: Instance, sources: UserSources) {
  const { instances: cached, expected } = sources;
  const { uid } = instance.metadata;
  return (node: Node): readonly Instance[] => {
    const taking = cached.byIndex('takesFrom', node.name);
    const coming = expected.on(node.name).filter(({ metadata }) => metadata.uid !== uid);
    return withFitting(node, occupantsOf(node, taking, instance, sources), coming);
  };
}

/**
 * An instance that waits for the place of a volume, with the node on which it will run; undefined if no node there has
 * room.
 */
export interface Nominee {
  readonly instance: Instance;
  readonly node: Node | undefined;
}

/**
 * The nodes on which the users of a volume will run once the volume is in a place. They are remembered until the cache
 * has the nominations.
 */
export function nomineesOf(
  volume: Volume,
  users: readonly Instance[],
  isThere: (node: Node) => boolean,
  sources: UserSources,
): readonly Nominee[] {
  const nominees: Nominee[] = [];
  const there = sources.nodes.filter(isThere);
  for (const instance of users) {
    if (instance.node !== undefined || !isNeedy(instance.template)) continue;
    const beside = constraintsBeside(volume, instance, sources);
    const taken = placedAndNominated(instance, sources);
    const choices = [
      there.filter(({ name }) => name === instance.nominatedNode),
      there,
      there.map(whenReady),
    ];
    let node: Node | undefined;
    for (const choice of choices) {
      const found = placeInstance(instance, choice, beside, taken);
      if (found.type !== 'node') continue;
      node = there.find(({ name }) => name === found.node);
      break;
    }
    nominees.push({ instance, node });
    if (node) sources.expected.expect(instance, node.name, sources.now, sources.instances);
  }
  return nominees;
}

/** Whether a node has room for an instance besides others, also if it is not Ready or is cordoned now. */
export function hasRoom(instance: Instance, node: Node, others: readonly Instance[]): boolean {
  return placeInstance(instance, [whenReady(node)], [], () => others).type === 'node';
}
