import { nodeTopologyKey } from '@kedge/driver-sdk/parameters';
import { command, deletionOf, scaleToNothing } from './commands.js';
import { finalizing } from './remaining-content.js';
import { unmet } from './reason.js';
import { byKind, type Remedy, type RemedyOf, run, wait } from './remedy.js';
import { again } from './storage-subject.js';
import type { About } from './world.js';

/** The remedy for a node that does not answer or was stopped. */
export function nodeIsAway(_about: About, node: string): Remedy {
  return wait(
    `node ${node}`,
    'once kedged runs there again (systemctl start kedged)',
    `kedge delete node/${node}`,
    'when it is gone permanently and certainly off, to take everything from it',
  );
}

function nodeOf(about: About): string {
  if (about.kind === 'Node') return about.object.name;
  if (about.kind === 'Instance' && about.object.node) return about.object.node;
  const place = 'topology' in about.object ? about.object.topology?.[nodeTopologyKey] : undefined;
  const [, named] = /node "?([-a-z0-9.]+)"?(?:[,;]| is | to |$)/.exec(about.message) ?? [];
  return place ?? named ?? '';
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
          'the node that has the data of its source is gone: delete it, and take another one',
        )
      : away(about);
  if (about.kind === 'Volume' && about.object.attachments?.[0])
    return wait(
      `node ${nodeOf(about)} to be taken from it`,
      'once the provider took it away',
      scaleToNothing(about.object.attachments[0].claim, about.world),
      'to stop what uses it',
    );
  return wait(
    `what node ${nodeOf(about)} had`,
    'on another node',
    deletionOf(about),
    'to do without it',
  );
}

/** The command in the message of a refused storage root, for a directory that is the right one. */
function storageRoot(about: About): Remedy {
  const { message } = about;
  const [, take] = /: (mkdir -p .*)$/.exec(message) ?? [];
  const [, path = 'of the node'] = /storage root (\S+)/.exec(message) ?? [];
  if (take !== undefined)
    return run(
      take,
      `mount the disk of storage root ${path} on the node, and it goes on by itself; if this is the right directory`,
    );
  return wait(
    `storage root ${path}`,
    'once its disk is mounted and kedged can read it',
    `chmod u+rwx ${path}`,
    'to let its owner, who runs kedged, use it',
  );
}

function otherProcess(about: About): Remedy {
  const [, path = 'of the node'] = /storage root (\S+)/.exec(about.message) ?? [];
  return wait(
    `storage root ${path}`,
    'once the other kedged that has it ends',
    'systemctl stop kedged',
    'to end that one, on the node',
  );
}

function otherCluster(about: About): Remedy {
  const [, path = ''] = /storage root (\S+)/.exec(about.message) ?? [];
  return run(
    `kedged --local-volume-root ${path}-own`,
    `mount the right disk at ${path}, or give this cluster a directory of its own`,
  );
}

/** Reasons of conditions that nodes, namespaces and storage roots have. */
export const nodeReasons = {
  AgentStopped: unmet('kedged on the node was stopped', away),
  NodeSilent: unmet('the node tells nothing of itself', away),
  NodeGone: unmet('the node was deleted', nodeGone),
  WaitsForNode: unmet('the node that has the data has to do it', byKind({}, away)),
  Finalizing: unmet(
    'objects of the namespace are being deleted',
    byKind({ Namespace: finalizing }, (about) => again(about, 'its end')),
  ),
  StorageRootMissing: unmet('the storage root of the node does not exist', storageRoot),
  StorageRootUnmarked: unmet(
    'the storage root of the node has no mark of its cluster',
    storageRoot,
  ),
  StorageRootOfOtherCluster: unmet(
    'the storage root of the node belongs to another cluster',
    otherCluster,
  ),
  StorageRootLocked: unmet('another process has the storage root of the node', otherProcess),
  StorageRootUnreadable: unmet("the storage root of the node can't be read", storageRoot),
} as const;

/** The command that ends the instances of a service. */
export function stopService(about: About<'Service'>): string {
  return command('scale', 'service', about.object, '--replicas 0');
}
