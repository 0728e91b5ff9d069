import { isDeleting, keyString, type Lister, type ObjectStore } from 'kedge';
import { type Instance, instances } from '../../instance/kind.js';
import type { Node } from '../../node/kind.js';
import { mountedVolumes } from '../../references/claim.js';
import { placeInstance, type VolumeConstraint } from '../../placement/index.js';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { type StorageClass } from '../../storage-class/kind.js';
import { namedTopology } from '../../storage-class/topology.js';
import { type Volume } from '../kind.js';
import type { ExpectedPlacements } from './expected-placements.js';
import { isNeedy } from '../../resources/index.js';
import { isAt } from './topology-choice.js';

type Labels = Readonly<Record<string, string>>;

/** The objects that decide where the users of a volume can run. */
export interface UserSources {
  readonly nodes: readonly Node[];
  readonly volumes: Lister<Volume>;
  readonly classes: Lister<StorageClass>;
  readonly instances: Lister<Instance>;
  readonly expected: ExpectedPlacements;
  /** The places that parameters of the users' other volumes name, by uid. */
  readonly named: ReadonlyMap<string, Labels>;
}

/**
 * Whether a volume will stay in its topology: it is provisioned there, or its provisioning has begun and the place has
 * not refused it. A refusal of an earlier place does not matter.
 */
function isSettled(volume: Volume): boolean {
  const { handle = '', driver = '', topology = {}, exhaustedTopologies = [] } = volume;
  const isHere = (place: Labels): boolean =>
    Object.entries(place).every(([key, value]) => topology[key] === value);
  return (
    handle !== '' ||
    (driver !== '' && !exhaustedTopologies.some((refused) => isHere(refused.topology)))
  );
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
        // A secret reference is resolved once its volume is started: until then it decides nothing.
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

/**
 * For each user of a volume, the nodes on which it can run according to everything except this volume. If it can run on
 * none now, those on which it can run later: a provisioned volume never moves, and elsewhere the instance could never
 * start. A node with room that is not Ready, or is cordoned, comes before a Ready one whose room other instances take.
 * Instances that no node permits are omitted.
 */
export function nodesOfUsers(
  volume: Volume,
  users: readonly Instance[],
  sources: UserSources,
): readonly (readonly Node[])[] {
  const placedOn = (node: string): readonly Instance[] =>
    sources.instances.byIndex('takesFrom', node);
  return users
    .map((instance) => {
      if (instance.node !== undefined)
        return sources.nodes.filter(({ name }) => name === instance.node);
      const beside = constraintsBeside(volume, instance, sources);
      const nodesWith = (
        seen: (node: Node) => Node,
        taken?: (name: string) => readonly Instance[],
      ): readonly Node[] =>
        sources.nodes.filter(
          (node) => placeInstance(instance, [seen(node)], beside, taken).type === 'node',
        );
      const all = placedAndExpected(instance, sources);
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
    })
    .filter((of) => of.length > 0);
}

/** The instances that use resources of a node, or are expected to, without one of them. */
function placedAndExpected(instance: Instance, { instances: cached, expected }: UserSources) {
  return (node: string): readonly Instance[] => [
    ...cached.byIndex('takesFrom', node),
    ...expected.on(node, instance),
  ];
}

/** Remembers on which node each user of a volume will run once the volume is in a place. */
export function expectUsers(
  volume: Volume,
  users: readonly Instance[],
  isThere: (node: Node) => boolean,
  sources: UserSources & { readonly now: number },
): void {
  for (const instance of users) {
    if (instance.node !== undefined) continue;
    const beside = constraintsBeside(volume, instance, sources);
    const there = sources.nodes.filter(isThere);
    const taken = placedAndExpected(instance, sources);
    const now = placeInstance(instance, there, beside, taken);
    const placement =
      now.type === 'node' ? now : placeInstance(instance, there.map(whenReady), beside, taken);
    if (placement.type === 'node')
      sources.expected.expect(instance, placement.node, sources.now, sources.instances);
  }
}

/**
 * Remembers where the waiting instances of the cache will run, if the place of one of their volumes is chosen. An
 * earlier process may have chosen it.
 */
export function expectWaiting(sources: UserSources & { readonly now: number }): void {
  for (const instance of sources.instances.list()) {
    if (instance.node !== undefined || isDeleting(instance) || !isNeedy(instance.template))
      continue;
    const chosen = mountedVolumes(instance).flatMap((key) => {
      const found = sources.volumes.get(key);
      return found && isSettled(found) ? [found] : [];
    });
    const [first] = chosen;
    // The constraints of the others apply too.
    if (first) expectUsers(first, [instance], (node) => isAt(node, first.topology ?? {}), sources);
  }
}
