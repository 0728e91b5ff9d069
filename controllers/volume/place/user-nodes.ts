import { isDeleting, keyString, type Lister, type ObjectStore } from 'kedge';
import { type Instance, instances } from '../../instance/kind.js';
import type { Node } from '../../node/kind.js';
import { mountedVolumes } from '../../references/claim.js';
import { placeInstance, type VolumeConstraint } from '../../placement/index.js';
import { type StorageClass } from '../../storage-class/kind.js';
import { type Volume } from '../kind.js';

/** The objects that decide where the users of a volume can run. */
export interface UserSources {
  readonly store: ObjectStore;
  readonly nodes: readonly Node[];
  readonly volumes: Lister<Volume>;
  readonly classes: Lister<StorageClass>;
  readonly instances: Lister<Instance>;
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
 * For each instance that mounts a volume, the nodes on which it can run besides this volume. If it can run on none now,
 * those on which it can run later: a provisioned volume never moves, and elsewhere the instance could never start.
 * Instances that no node permits are left out: they don't decide. Read from the store, because the cache may lack an
 * instance that was created together with the volume.
 */
export async function nodesOfUsers(
  volume: Volume,
  sources: UserSources,
): Promise<readonly (readonly Node[])[]> {
  const { namespace, name } = volume;
  const mounting = { index: 'mounts', value: keyString({ namespace, name }) } as const;
  const { items } = await sources.store.list(instances, mounting);
  const placedOn = (node: string): readonly Instance[] =>
    sources.instances.byIndex('takesFrom', node);
  return items
    .filter((instance) => !isDeleting(instance))
    .map((instance) => {
      if (instance.node !== undefined)
        return sources.nodes.filter(({ name }) => name === instance.node);
      const beside = constraintsBeside(volume, instance, sources);
      const now = sources.nodes.filter(
        (node) => placeInstance(instance, [node], beside, placedOn).type === 'node',
      );
      if (now.length > 0) return now;
      return sources.nodes.filter(
        (node) => placeInstance(instance, [whenReady(node)], beside).type === 'node',
      );
    })
    .filter((of) => of.length > 0);
}
