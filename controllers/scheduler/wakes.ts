import { keyString, type ObjectKey, type SharedInformer } from 'kedge';
import type { Instance } from '../instance/kind.js';
import type { Node } from '../node/kind.js';
import type { StorageClass } from '../storage-class/kind.js';
import type { Volume } from '../volume/kind.js';
import { mountedVolumes } from '../service/index.js';
import { isNeedy } from '../service/needs/index.js';

/** The inputs of a placement other than the instance. */
export interface PlacementSources {
  readonly instances: SharedInformer<Instance>;
  readonly volumes: SharedInformer<Volume>;
}

/** The unplaced instances whose placement depends on an object. */
export interface PlacementWakes {
  readonly ofNode: () => readonly ObjectKey[];
  /** Instances that request resources or ports, after a placed instance with some was deleted. */
  readonly ofInstance: (instance: Instance) => readonly ObjectKey[];
  readonly ofVolume: (volume: Pick<Volume, 'namespace' | 'name'>) => readonly ObjectKey[];
  readonly ofClass: (storageClass: Pick<StorageClass, 'name'>) => readonly ObjectKey[];
}

const unplacedIndex = 'unplaced';
const unplacedNeedy = 'unplacedNeedy';
const unplacedByVolume = 'unplacedByVolume';

const isUnplaced = ({ node }: Instance): boolean => node === undefined;

function keyOf({ namespace, name }: Instance): ObjectKey {
  return { namespace, name };
}

/**
 * Finds the unplaced instances that depend on an object. A volume queues the instances that mount it, a class those
 * with a volume of it, a node all of them. Placed instances are not tracked.
 *
 * An instance or volume that is not cached yet misses no event: its own arrival queues it.
 */
export function placementWakes({ instances, volumes }: PlacementSources): PlacementWakes {
  instances.addIndex(unplacedIndex, (instance) => (isUnplaced(instance) ? ['yes'] : []));
  instances.addIndex(unplacedNeedy, (instance) =>
    isUnplaced(instance) && isNeedy(instance.template) ? ['yes'] : [],
  );
  instances.addIndex(unplacedByVolume, (instance) =>
    isUnplaced(instance) ? mountedVolumes(instance) : [],
  );
  const ofVolume: PlacementWakes['ofVolume'] = ({ namespace, name }) =>
    instances.lister.byIndex(unplacedByVolume, keyString({ namespace, name })).map(keyOf);
  return {
    ofNode: () => instances.lister.byIndex(unplacedIndex, 'yes').map(keyOf),
    ofInstance: (instance) =>
      isUnplaced(instance) || !isNeedy(instance.template)
        ? []
        : instances.lister.byIndex(unplacedNeedy, 'yes').map(keyOf),
    ofVolume,
    ofClass: ({ name }) => volumes.lister.byIndex('storageClass', name).flatMap(ofVolume),
  };
}

/** Whether an update of a node may change placements. A heartbeat does not. */
export function changesNodePlacement(before: Node, node: Node): boolean {
  return (
    before.status !== node.status ||
    before.metadata.generation !== node.metadata.generation ||
    JSON.stringify(before.capacity) !== JSON.stringify(node.capacity)
  );
}

/** Whether an update of a volume may change placements. */
export function changesVolumePlacement(before: Volume, volume: Volume): boolean {
  return (
    before.handle !== volume.handle ||
    before.metadata.generation !== volume.metadata.generation ||
    JSON.stringify(before.driverParameters) !== JSON.stringify(volume.driverParameters) ||
    JSON.stringify(before.topology) !== JSON.stringify(volume.topology)
  );
}
