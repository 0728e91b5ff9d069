import { isDeleting, keyString, type Lister, type ObjectStore } from 'kedge';
import { type Instance, instances } from '../../instance/kind.js';
import type { Node } from '../../node/kind.js';
import { mountedVolumes } from '../../references/claim.js';
import { placeInstance, type VolumeConstraint } from '../../placement/index.js';
import { type StorageClass } from '../../storage-class/kind.js';
import { type Volume } from '../kind.js';
import type { ExpectedPlacements } from './expected-placements.js';

/** The objects that decide where the users of a volume can run. */
export interface UserSources {
  readonly nodes: readonly Node[];
  readonly volumes: Lister<Volume>;
  readonly classes: Lister<StorageClass>;
  readonly instances: Lister<Instance>;
  readonly expected: ExpectedPlacements;
}

/** Whether a volume will stay in its topology: it is provisioned there, or is about to be. */
function isSettled({ handle = '', driver = '', exhaustedTopologies = [] }: Volume): boolean {
  return handle !== '' || (driver !== '' && exhaustedTopologies.length === 0);
}

/**
 * The constraints of the other volumes of an instance. A volume that is being provisioned counts as provisioned, so that
 * two volumes of an instance do not choose different places.
 */
function constraintsBeside(
  volume: Volume,
  instance: Instance,
  { volumes, classes }: UserSources,
): readonly VolumeConstraint[] {
  return mountedVolumes(instance).flatMap((key) => {
    const other = volumes.get(key);
    if (!other || other.metadata.uid === volume.metadata.uid) return [];
    const storageClass = classes.get(other.storageClassName);
    const { namespace, name, topology = {}, handle = '' } = other;
    const settled = isSettled(other) ? handle || 'in progress' : '';
    return [{ volume: { namespace, name, topology, handle: settled }, storageClass }];
  });
}

const ready: NonNullable<Node['status']> = 'Ready';

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
 * For each user of a volume, the nodes on which it can run besides this volume. If it can run on none now, those on
 * which it can run later: a provisioned volume never moves, and elsewhere the instance could never start. Instances that
 * no node permits are left out: they don't decide.
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
      const fits = (node: Node, taken?: (name: string) => readonly Instance[]): boolean =>
        placeInstance(instance, [node], beside, taken).type === 'node';
      const all = placedAndExpected(instance, sources);
      const roomy = sources.nodes.filter((node) => fits(node, all));
      if (roomy.length > 0) return roomy;
      const now = sources.nodes.filter((node) => fits(node, placedOn));
      return now.length > 0 ? now : sources.nodes.filter((node) => fits(whenReady(node)));
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
    const placement = placeInstance(instance, there, beside, taken);
    if (placement.type === 'node') sources.expected.expect(instance, placement.node, sources.now);
  }
}
