import { nodeTopologyKey } from '@kedge/driver-sdk/parameters';
import {
  nodesDeleted,
  provisioningNodeDeleted,
  sourceNodeDeleted,
  waitsForNode,
} from '../messages/nodes.js';
import { objectRemains } from '../messages/namespaces.js';
import {
  markCommand,
  storageRootHolder,
  storageRootLabel,
  storageRootRefusedBy,
} from '../messages/storage-root.js';
import { command, deletionOf, patchOf, scaleToNothing } from './commands.js';
import { driverErrors } from './driver-errors.js';
import { shellWord } from '../messages/shell-word.js';
import { remainingContent } from './remaining-content.js';
import { unmet } from './reason.js';
import { byKind, type Remedy, type RemedyOf, run, wait } from './remedy.js';
import { again, inUse, type Storage } from './storage-subject.js';
import { type About, findByKey } from './world.js';

/** The remedy for a silent or stopped node. */
export function nodeIsAway(_about: About, node: string): Remedy {
  return wait(
    `node ${node}`,
    'once kedged runs there again (systemctl start kedged)',
    `kedge delete node/${node}`,
    'if the node is permanently gone and powered off, to remove it and detach its volumes',
  );
}

function nodeOf(about: About): string {
  if (about.kind === 'Node') return about.object.name;
  if (about.kind === 'Instance' && about.object.node) return about.object.node;
  const place = 'topology' in about.object ? about.object.topology?.[nodeTopologyKey] : undefined;
  return place ?? namedNode(about.message) ?? '';
}

/** The node that a message names. */
function namedNode(message: string): string | undefined {
  for (const form of [waitsForNode, sourceNodeDeleted, provisioningNodeDeleted]) {
    const found = form.read(message);
    if (found) return found.node;
  }
  return nodesDeleted.read(message)?.nodes[0];
}

const away: RemedyOf = (about) => {
  const node = nodeOf(about);
  return node === '' ? again(about, 'its node') : nodeIsAway(about, node);
};

/** The remedy for a deleted node. Its volumes are detached, or its workloads are created on other nodes. */
function nodeGone(about: About): Remedy {
  if (about.kind === 'Snapshot')
    return about.object.status === 'Failed'
      ? run(
          deletionOf(about),
          'the node that has the data of the source volume was deleted: start kedged on it again and retry, or delete the snapshot',
        )
      : away(about);
  if (about.kind === 'Volume' && about.object.attachments?.[0])
    return wait(
      `its detach from node ${about.object.attachments[0].node}`,
      'once the provider has detached it',
      scaleToNothing(about.object.attachments[0].claim, about.world),
      'to stop the service that uses it',
    );
  const node = nodeOf(about);
  return wait(
    node === '' ? 'the cleanup of its node' : `the cleanup of node ${node}`,
    'on another node',
    deletionOf(about),
    'to delete it instead',
  );
}

/** The remedy for a refused storage root, with the command of its message if the directory is the right one. */
function storageRoot(about: About): Remedy {
  const { message } = about;
  const mark = markCommand.read(message);
  const path = rootIn(message);
  if (mark)
    return run(
      `mkdir -p ${shellWord(mark.folder)} && echo ${shellWord(mark.cluster)} > ${shellWord(mark.mark)}`,
      `mount the disk of storage root ${path ?? mark.folder} on the node, and kedged continues automatically; if this is the right directory`,
    );
  if (path === undefined)
    return wait(
      'the storage root of the node',
      'once its disk is mounted and kedged can read it',
      'systemctl restart kedged',
      'to check it again, on the node',
    );
  return wait(
    `storage root ${path}`,
    'once its disk is mounted and kedged can read it',
    `chmod u+rwx ${shellWord(path)}`,
    'to permit access by its owner, the user of kedged',
  );
}

/** The path of the storage root in a message; undefined for a message of an earlier release without one. */
function rootIn(message: string): string | undefined {
  return storageRootLabel.read(message)?.path;
}

function otherProcess(about: About): Remedy {
  const path = rootIn(about.message);
  const pid = storageRootHolder.read(about.message)?.pid;
  return wait(
    path === undefined ? 'the storage root of the node' : `storage root ${path}`,
    'once the other kedged that has locked it ends',
    pid === undefined ? 'systemctl stop kedged' : `kill ${shellWord(pid)}`,
    'to stop the other kedged, on the node',
  );
}

function otherCluster(about: About): Remedy {
  const path = rootIn(about.message);
  const cluster = storageRootRefusedBy.read(about.message)?.cluster;
  // With the cluster in its name, the directory is not that of a third cluster.
  const own = path === undefined || cluster === undefined ? 'VALUE' : `${path}-${cluster}`;
  return run(
    `kedged --local-volume-root ${shellWord(own)}`,
    `mount the right disk at ${path ?? 'the storage root'}, or use a separate directory for this cluster`,
  );
}

/** The first volume or snapshot that a message about a namespace names. */
function remainingStorage({ message, object, world }: About): Storage | undefined {
  for (const { kind, name } of objectRemains.readAll(message)) {
    const key = `${object.name}/${name}`;
    const volume = kind === 'Volume' ? findByKey(world.volumes, key) : undefined;
    if (volume) return { kind: 'Volume', object: volume };
    const snapshot = kind === 'Snapshot' ? findByKey(world.snapshots, key) : undefined;
    if (snapshot) return { kind: 'Snapshot', object: snapshot };
  }
  return undefined;
}

/** The remedy for the error of a driver that does not delete a volume or snapshot; undefined without one. */
function refusedDeletion(storage: Storage, { world }: About): Remedy | undefined {
  const { reason = '', failureMessage = '', lastOperation } = storage.object;
  const [, entry] = Object.entries(driverErrors).find(([kind]) => kind === reason) ?? [];
  const message = failureMessage || (lastOperation?.message ?? '');
  return entry?.remedy({ ...storage, message, world });
}

/** The remedy for a namespace whose objects are being deleted. */
function finalizing(about: About): Remedy {
  const { object, world, message } = about;
  const storage = remainingStorage(about);
  if (storage?.kind === 'Volume' && storage.object.attachments?.length)
    return inUse({ ...storage, message, world });
  const refused = storage && refusedDeletion(storage, about);
  if (refused) return refused;
  if (storage?.kind !== 'Volume') return remainingContent(about);
  const volume = storage.object;
  if (volume.dataDeletion?.askedAt) return again({ ...storage, message, world }, 'its driver');
  return run(
    patchOf('volume', volume, { reclaimPolicy: 'retain' }),
    `the deletion of the namespace continues once volume ${object.name}/${volume.name} is deleted; to remove the volume and keep its data`,
  );
}

/** Reasons of conditions that nodes, namespaces and storage roots have. */
export const nodeReasons = {
  AgentStopped: unmet('kedged on the node was stopped', away),
  NodeSilent: unmet('the node sends no heartbeats', away),
  NodeGone: unmet('the node was deleted', nodeGone),
  WaitsForNode: unmet('the operation waits for the node that has the data', byKind({}, away)),
  Finalizing: unmet(
    'objects of the namespace are being deleted',
    byKind({ Namespace: finalizing }, (about) => again(about, 'the deletion of its objects')),
  ),
  StorageRootMissing: unmet('the storage root of the node does not exist', storageRoot),
  StorageRootUnmarked: unmet(
    'the storage root of the node lacks the marker file of its cluster',
    storageRoot,
  ),
  StorageRootOfOtherCluster: unmet(
    'the storage root of the node belongs to another cluster',
    otherCluster,
  ),
  StorageRootLocked: unmet(
    'the storage root of the node is locked by another process',
    otherProcess,
  ),
  StorageRootUnreadable: unmet("the storage root of the node can't be read", storageRoot),
} as const;

/** The command that scales a service to zero. */
export function stopService(about: About<'Service'>): string {
  return command('scale', 'service', about.object, '--replicas 0');
}
