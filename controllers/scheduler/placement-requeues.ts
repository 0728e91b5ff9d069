import { keyString, type ObjectKey, type SharedInformer } from 'kedge';
import type { Instance } from '../instance/kind.js';
import type { Node } from '../node/kind.js';
import type { StorageClass } from '../storage-class/kind.js';
import type { Volume } from '../volume/kind.js';
import { mountedVolumes } from '../references/claim.js';
import { isNeedy } from '../resources/index.js';

/** The informers that find the unplaced instances of an object. */
export interface PlacementSources {
  readonly instances: SharedInformer<Instance>;
  readonly volumes: SharedInformer<Volume>;
}

/** Functions that return the keys of the unplaced instances whose placement depends on a changed object. */
export interface PlacementRequeues {
  readonly ofNode: () => readonly ObjectKey[];
  /** Those that request resources or ports, if the deleted instance was placed and had requested some. */
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
 * Adds indexes of unplaced instances to the informer, and returns functions that look them up. A volume queues the
 * unplaced instances that mount it, a class those that mount its volumes, a deleted instance those that request
 * resources or ports, and a node all of them.
 *
 * An object that is not cached yet needs no requeue: its own arrival in the cache queues the instance.
 */
export function placementRequeues({ instances, volumes }: PlacementSources): PlacementRequeues {
  instances.addIndex(unplacedIndex, (instance) => (isUnplaced(instance) ? ['yes'] : []));
  instances.addIndex(unplacedNeedy, (instance) =>
    isUnplaced(instance) && isNeedy(instance.template) ? ['yes'] : [],
  );
  instances.addIndex(unplacedByVolume, (instance) =>
    isUnplaced(instance) ? mountedVolumes(instance) : [],
  );
  const ofVolume: PlacementRequeues['ofVolume'] = ({ namespace, name }) =>
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

/** Whether an update of a node may change placements. False for a heartbeat. */
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
