import { isDeleting, keyString, type ObjectKey, type SharedInformer } from 'kedge';
import type { Instance } from '../instance/kind.js';
import type { Node } from '../node/kind.js';
import type { StorageClass } from '../storage-class/kind.js';
import type { Volume } from '../volume/kind.js';
import { isAt, isSettled } from '../placement/index.js';
import { mountedVolumes } from '../references/claim.js';
import { isNeedy } from '../resources/index.js';

/** The informers that find the unplaced instances of an object. */
export interface PlacementSources {
  readonly instances: SharedInformer<Instance>;
  readonly nodes: SharedInformer<Node>;
  readonly volumes: SharedInformer<Volume>;
  /** Whether a volume whose place is chosen keeps an instance from every node, by the key of the instance. */
  readonly isWaiting: (key: string) => boolean;
}

type VolumeName = Pick<Volume, 'namespace' | 'name'>;

/** Functions that return the keys of the unplaced instances whose placement depends on a changed object. */
export interface PlacementRequeues {
  readonly ofNode: () => readonly ObjectKey[];
  /**
   * The instances that request resources or ports, if the changed instance occupied some or was nominated for some. If
   * the time of its nomination has passed, the instances that wait for a volume whose place is chosen are omitted: they
   * could only be nominated, one after the other.
   */
  readonly ofInstance: (instance: Instance, other?: Instance) => readonly ObjectKey[];
  readonly ofVolume: (volume: VolumeName) => readonly ObjectKey[];
  /** Those that request resources or ports, if some are reserved for an instance that mounts the volume. */
  readonly ofReserving: (volume: Volume, other?: Volume) => readonly ObjectKey[];
  readonly ofClass: (storageClass: Pick<StorageClass, 'name'>) => readonly ObjectKey[];
}

const unplacedIndex = 'unplaced';
const unplacedNeedy = 'unplacedNeedy';
const unplacedByVolume = 'unplacedByVolume';

const isUnplaced = ({ node }: Instance): boolean => node === undefined;

const isNominatedAnywhere = ({ nominatedNode = '' }: Instance): boolean => nominatedNode !== '';

/** Whether the time of an instance's nomination has passed. */
export function isOver({ nominatedNode = '', nominatedAt = '' }: Instance): boolean {
  return nominatedNode === '' && nominatedAt !== '';
}

function keyOf({ namespace, name }: Instance): ObjectKey {
  return { namespace, name };
}

/**
 * Adds indexes of unplaced instances to the informer, and returns functions that look them up. A volume queues the
 * unplaced instances that mount it. A class queues the unplaced instances that mount its volumes or a missing volume. An
 * instance that frees room queues the unplaced instances that request resources or ports. A node queues all unplaced
 * instances.
 *
 * An object that is not cached yet needs no requeue: its own arrival in the cache queues the instance.
 */
export function placementRequeues({
  instances,
  nodes,
  volumes,
  isWaiting,
}: PlacementSources): PlacementRequeues {
  instances.addIndex(unplacedIndex, (instance) => (isUnplaced(instance) ? ['yes'] : []));
  instances.addIndex(unplacedNeedy, (instance) =>
    isUnplaced(instance) && isNeedy(instance.template) ? ['yes'] : [],
  );
  instances.addIndex(unplacedByVolume, (instance) =>
    isUnplaced(instance) ? mountedVolumes(instance) : [],
  );
  const mounting = ({ namespace, name }: VolumeName): readonly Instance[] =>
    instances.lister.byIndex(unplacedByVolume, keyString({ namespace, name }));
  const ofVolume: PlacementRequeues['ofVolume'] = (volume) => mounting(volume).map(keyOf);
  const unplaced = (): readonly Instance[] => instances.lister.byIndex(unplacedIndex, 'yes');
  const lacksVolume = (instance: Instance): boolean =>
    mountedVolumes(instance).some((key) => volumes.lister.get(key) === undefined);
  const needy = (): readonly ObjectKey[] =>
    instances.lister.byIndex(unplacedNeedy, 'yes').map(keyOf);
  const takesRoom = (instance: Instance): boolean =>
    isNeedy(instance.template) && (!isUnplaced(instance) || isNominatedAnywhere(instance));
  /** Whether the provisioning of a volume started in the place of the nominated node, which ends no reservation. */
  const startsAtNominated = (instance: Instance, one: Volume, other?: Volume): boolean => {
    if (!other || isStarted(one) === isStarted(other)) return false;
    const started = isStarted(one) ? one : other;
    const node = nodes.lister.get(keyString({ name: instance.nominatedNode ?? '' }));
    return node !== undefined && isComing(started) && isAt(node, started.topology ?? {});
  };
  return {
    ofNode: () => unplaced().map(keyOf),
    ofInstance: (instance, other) => {
      if (!takesRoom(instance)) return [];
      if (!other || !isOver(other)) return needy();
      return needy().filter((key) => !isWaiting(keyString(key)));
    },
    ofVolume,
    ofReserving: (volume, other) => {
      const ends = (instance: Instance): boolean =>
        takesRoom(instance) && !startsAtNominated(instance, volume, other);
      return mounting(volume).some(ends) ? needy() : [];
    },
    ofClass: ({ name }) => [
      ...volumes.lister.byIndex('storageClass', name).flatMap(ofVolume),
      ...unplaced().filter(lacksVolume).map(keyOf),
    ],
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

/** Whether an update of an instance frees the room of a node for which it was nominated. */
export function endsNomination(before: Instance, instance: Instance): boolean {
  if (!isUnplaced(before) || !isNominatedAnywhere(before)) return false;
  if (isDeleting(instance) && !isDeleting(before)) return true;
  return (instance.node ?? instance.nominatedNode) !== before.nominatedNode;
}

/** Whether an update of a volume may end the reservations for instances that wait for it. */
export function endsReservation(before: Volume, volume: Volume): boolean {
  const isElsewhere = JSON.stringify(before.topology) !== JSON.stringify(volume.topology);
  return isComing(before) && (!isComing(volume) || isElsewhere);
}

/**
 * Whether an instance that mounts the volume can still get its reserved room, if the place of the volume permits it.
 */
function isComing(volume: Volume): boolean {
  return (
    volume.status !== 'Failed' && !isDeleting(volume) && (!isStarted(volume) || isSettled(volume))
  );
}

function isStarted({ handle = '', driver = '' }: Volume): boolean {
  return handle !== '' || driver !== '';
}
