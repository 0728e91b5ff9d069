import { markCommand, storageRootLabel, storageRootRefusedBy } from '../messages/storage-root.js';

/** A volume or snapshot that the store places in a root. */
export interface PlacedData {
  readonly uid: string;
  /** For people, such as `volume default/data`. */
  readonly label: string;
}

/** The inputs of a decision about a storage root. */
export interface RootSituation {
  readonly path: string;
  readonly clusterId: string;
  /** The content of the path. */
  readonly found:
    | { readonly type: 'absent' }
    | { readonly type: 'marked'; readonly clusterId: string }
    | {
        readonly type: 'unmarked';
        /** Names in the directory, and in its folder `snapshots`. */
        readonly entries: readonly string[];
      };
  /** This node has had a root there. */
  readonly recorded: boolean;
  readonly placed: readonly PlacedData[];
  /** The store is a copy of another cluster's, to which an unmarked directory may belong. */
  readonly copied?: boolean;
}

/** The reason why a storage root is refused. */
export type RootReason =
  | 'StorageRootMissing'
  | 'StorageRootUnmarked'
  | 'StorageRootOfOtherCluster'
  | 'StorageRootLocked'
  | 'StorageRootUnreadable';

/** The decision about a storage root. */
export type RootPlan =
  | { readonly type: 'use' }
  /** The first start: the directory is created and marked. */
  | { readonly type: 'make' }
  /** An existing directory without a mark, such as that of an earlier release or an empty one, gets the mark. */
  | { readonly type: 'adopt' }
  | { readonly type: 'refuse'; readonly reason: RootReason; readonly message: string };

/** Folder in a root for its mark and its lock. */
export const rootFolder = '.kedge';
/** The mark of a root: a file in {@link rootFolder} that holds the cluster id. */
export const markFile = 'cluster-id';

const shownMax = 3;
/** Matches names of entries that the driver, mkfs or this module creates in a root. */
const ownEntry =
  /^(\.(making|deleting)-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.img)?$|^(snapshots|lost\+found|\.kedge)$/;
/** Matches names of entries of volumes and snapshots, also of those in creation or deletion. */
const volumeEntry = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.img)?$/;

/** Decides whether a root is used, created, marked or refused. Pure. */
export function planRoot(situation: RootSituation): RootPlan {
  const { path, clusterId, found, recorded, placed } = situation;
  const mark = `${path}/${rootFolder}/${markFile}`;
  const folder = `${path}/${rootFolder}`;
  const command = markCommand.format({ folder, cluster: clusterId, mark });
  const root = storageRootLabel.format({ path });
  switch (found.type) {
    case 'marked':
      if (found.clusterId === clusterId) return { type: 'use' };
      return {
        type: 'refuse',
        reason: 'StorageRootOfOtherCluster',
        message: `${root} belongs to cluster ${found.clusterId} (${mark}), ${storageRootRefusedBy.format({ cluster: clusterId })}; mount the right disk there, or set [storage].localVolumeRoot to another directory. If that cluster is lost permanently: kedge admin adopt-root ${path}`,
      };
    case 'absent':
      if (!recorded && placed.length === 0) return { type: 'make' };
      return {
        type: 'refuse',
        reason: 'StorageRootMissing',
        message: `${root} does not exist; mount its disk, and kedged continues automatically. If its data is lost permanently, create an empty one: ${command}`,
      };
    case 'unmarked': {
      const obstacle = recorded
        ? 'the file existed before'
        : adoptionObstacle(found.entries, placed, situation.copied ?? false);
      if (obstacle === undefined) return { type: 'adopt' };
      return {
        type: 'refuse',
        reason: 'StorageRootUnmarked',
        message: `${root} has no file ${rootFolder}/${markFile}, and ${obstacle}; is its disk mounted? Mount it, and kedged continues automatically. If this is the right directory: ${command}`,
      };
    }
  }
}

/** The reason why an unmarked directory is not accepted as the earlier root; undefined if it is. */
function adoptionObstacle(
  entries: readonly string[],
  placed: readonly PlacedData[],
  copied: boolean,
): string | undefined {
  const names = new Set(entries);
  const absent = placed.filter(({ uid }) => !names.has(uid) && !names.has(`${uid}.img`));
  if (absent.length > 0) {
    const shown = absent.slice(0, shownMax).map(({ label }) => label);
    const more = absent.length > shownMax ? ` and ${absent.length - shownMax} more` : '';
    return `the directory does not contain ${shown.join(', ')}${more}`;
  }
  // With volumes of the store in it, it is the earlier root, regardless of other entries.
  if (placed.length > 0) return undefined;
  const volume = copied ? entries.find((name) => volumeEntry.test(name)) : undefined;
  if (volume !== undefined)
    return `the directory contains ${JSON.stringify(volume)}, which may belong to the cluster that this store is a copy of`;
  const foreign = entries.find((name) => !ownEntry.test(name));
  return foreign === undefined
    ? undefined
    : `the directory contains ${JSON.stringify(foreign)}, which kedged did not create`;
}
