import type { ObjectStore } from 'kedge';
import { nodeTopologyKey } from '@kedge/driver-sdk';
import { foreignRecords } from '../provisioned/foreign-record.js';
import { homeOf } from '../provisioned/owner.js';
import { nodes } from '../node/kind.js';
import { snapshots } from '../snapshot/kind.js';
import { type Volume, volumes } from '../volume/kind.js';
import type { PlacedData } from './plan.js';

/** Reason of a volume whose data was found missing earlier. */
const lostReason = 'VolumeLost';

/** A storage root, as the status of volumes and snapshots refers to it. */
export interface RootOwner {
  readonly node: string;
  /** The driver whose data is in the root. */
  readonly driver: string;
}

/** Whether a volume's data is in a root. Volumes of earlier releases have no recorded node. */
export function isPlacedOn(volume: Volume, { node, driver }: RootOwner): boolean {
  if (volume.driver !== driver) return false;
  const placed = volume.topology?.[nodeTopologyKey];
  return placed === undefined || placed === node;
}

/**
 * The volumes and snapshots of this cluster that the store places in a node's root, without those found missing
 * earlier.
 */
export async function placedIn(
  store: ObjectStore,
  root: RootOwner,
): Promise<readonly PlacedData[]> {
  const placed: PlacedData[] = [];
  const foreign = new Set((await store.list(foreignRecords)).items.map(({ name }) => name));
  const here = new Set<string>();
  const elsewhere = new Set<string>();
  for (const volume of (await store.list(volumes)).items) {
    (isPlacedOn(volume, root) ? here : elsewhere).add(volume.metadata.uid);
    const { handle = '', namespace, name, status, reason } = volume;
    const lost = status === 'Failed' && reason === lostReason;
    if (handle === '' || lost || !isPlacedOn(volume, root)) continue;
    if (foreign.has(volume.metadata.uid)) continue;
    const uid = volume.importedAs || volume.metadata.uid;
    placed.push({ uid, label: `volume ${namespace}/${name}` });
  }
  const alone = (await store.list(nodes)).items.every(({ name }) => name === root.node);
  for (const { driver, handle = '', status, ...snapshot } of (await store.list(snapshots)).items) {
    if (driver !== root.driver || handle === '' || status !== 'Ready') continue;
    const { sourceUid = '' } = snapshot;
    const home = homeOf(snapshot);
    // Without a recorded node a snapshot is on that of its source, which is unknown once the source is deleted.
    const isHere =
      home === undefined
        ? here.has(sourceUid) || (alone && !elsewhere.has(sourceUid))
        : home === root.node;
    if (!isHere) continue;
    const { metadata, namespace, name } = snapshot;
    if (foreign.has(metadata.uid)) continue;
    placed.push({ uid: metadata.uid, label: `snapshot ${namespace}/${name}` });
  }
  return placed;
}

/** Whether the store is a copy of another cluster's store that had volumes or snapshots. */
export async function isCopy(store: ObjectStore): Promise<boolean> {
  return (await store.list(foreignRecords, { limit: 1 })).items.length > 0;
}
