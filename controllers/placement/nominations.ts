import { isDeleting, type Lister } from 'kedge';
import type { Instance } from '../instance/kind.js';
import type { Node } from '../node/kind.js';
import { mountedVolumes } from '../references/claim.js';
import { labelsOf } from '../storage-class/index.js';
import type { Volume } from '../volume/kind.js';
import { withFitting } from './node-room.js';
import { matchesSelector } from './plan.js';

type Labels = Readonly<Record<string, string>>;

/**
 * Time for which the scheduler keeps the room of a nominated instance, milliseconds. Its volume may take longer.
 */
export const nominationMs = 15 * 60_000;

/** The status of an instance for which the room of a node is reserved. */
export interface Nomination {
  readonly nominatedNode: string;
  /**
   * Time stamp of the writer. It identifies the nomination and orders it among others; no clock is compared with it. It
   * stays without a node once the time of the nomination has passed: the scheduler does not nominate the instance again.
   */
  readonly nominatedAt: string;
}

/** The objects that decide whether a nomination can still lead to a placement. */
export interface NominationSources {
  readonly volumes: Pick<Lister<Volume>, 'get'>;
}

/** Whether a node has the labels of a place. */
export function isAt(node: Node, place: Labels): boolean {
  const labels = labelsOf(node);
  return Object.entries(place).every(([key, value]) => labels[key] === value);
}

/**
 * Whether a volume will stay in its topology: it is provisioned there, or its provisioning there has begun and the place
 * has not refused it. Refusals of other places don't count.
 */
export function isSettled(volume: Volume): boolean {
  const { handle = '', driver = '', topology = {}, exhaustedTopologies = [] } = volume;
  const isHere = (place: Labels): boolean =>
    Object.entries(place).every(([key, value]) => topology[key] === value);
  return (
    handle !== '' ||
    (driver !== '' && !exhaustedTopologies.some((refused) => isHere(refused.topology)))
  );
}

/** Whether an instance with a volume may get a node: the volume is settled in the place of the node, or has no place yet. */
function permits(volume: Volume | undefined, node: Node): boolean {
  if (!volume || volume.status === 'Failed' || isDeleting(volume)) return false;
  const isStarted = Boolean(volume.handle) || Boolean(volume.driver);
  return !isStarted || (isSettled(volume) && isAt(node, volume.topology ?? {}));
}

/**
 * Whether the nomination of an instance for a node can still lead to a placement: the instance is neither placed nor
 * deleted, the node matches its selector, and each of its volumes exists and can be where the node reaches it. Room is
 * not considered. The scheduler removes nominations whose time has passed.
 */
export function isNominated(
  instance: Instance,
  node: Node,
  { volumes }: NominationSources,
): boolean {
  if (instance.node !== undefined || instance.nominatedNode !== node.name) return false;
  if (isDeleting(instance)) return false;
  if (!matchesSelector(node, instance.template.nodeSelector)) return false;
  return mountedVolumes(instance).every((key) => permits(volumes.get(key), node));
}

/** Earlier nominations first. */
function byNomination(a: Instance, b: Instance): number {
  const [x = '', y = ''] = [a.nominatedAt, b.nominatedAt];
  if (x !== y) return x < y ? -1 : 1;
  return a.metadata.uid < b.metadata.uid ? -1 : 1;
}

/**
 * The instances that another instance counts as using a node: the placed ones, and the nominated ones that
 * fit besides them, in the order of their nominations. If the other instance is nominated there itself, later ones don't
 * count: otherwise two of them could wait for each other.
 * @param taking the instances with index `takesFrom` of the node
 */
export function occupantsOf(
  node: Node,
  taking: readonly Instance[],
  instance: Instance,
  sources: NominationSources,
): readonly Instance[] {
  const placed = taking.filter((each) => each.node === node.name);
  if (placed.length === taking.length) return placed;
  const { uid } = instance.metadata;
  const nominated = taking.filter((each) => isNominated(each, node, sources)).sort(byNomination);
  const own = nominated.findIndex(({ metadata }) => metadata.uid === uid);
  return withFitting(node, placed, own < 0 ? nominated : nominated.slice(0, own));
}
