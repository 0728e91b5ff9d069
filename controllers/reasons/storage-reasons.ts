import {
  quotedSnapshot,
  sharedDiskFull,
  sizeTooSmall as tooSmall,
  snapshotMissing,
  sourceDeleting,
  sourceMissing,
} from '../messages/storage.js';
import { referredKey } from '../references/object-reference.js';
import { command, deletionOf, inNamespace, scaleToNothing, serviceOf } from './commands.js';
import { shellWord } from '../messages/shell-word.js';
import { lost } from './driver-errors.js';
import { topologyUnsatisfied } from './scheduling/placement.js';
import { unmet } from './reason.js';
import { byKind, type Remedy, type RemedyOf, run, set, wait } from './remedy.js';
import { again, retryCommand } from './storage-subject.js';
import { type About, findByKey } from './world.js';

/** The remedy while a driver call is in progress. */
const underWay: RemedyOf = (about) =>
  wait('its driver', 'once the call has finished', deletionOf(about), 'to delete it instead');

/** The remedy for a volume that is created from a snapshot. */
function snapshotNotReady(about: About<'Volume'>): Remedy {
  const { namespace, source } = about.object;
  const named = source && referredKey(source.snapshot, namespace);
  const key = named
    ? `${named.namespace}/${named.name}`
    : (quotedSnapshot.read(about.message)?.snapshot ?? '');
  const label = key === '' ? 'its snapshot' : `snapshot ${key}`;
  const snapshot = findByKey(about.world.snapshots, key);
  if (snapshot?.status === 'Failed' && !snapshot.handle)
    return run(
      retryCommand({ kind: 'Snapshot', object: snapshot }),
      `${label} failed: fix the reported cause, then retry it`,
    );
  if (!snapshot && snapshotMissing.isIn(about.message))
    return run(
      deletionOf(about),
      `${label} does not exist: delete this volume, and restore another snapshot`,
    );
  return wait(label, 'once the snapshot is Ready', deletionOf(about), 'to delete it instead');
}

/** The remedy for a volume that is smaller than its source snapshot. */
function sizeTooSmall(about: About<'Volume'>): Remedy {
  const { object } = about;
  const least = tooSmall.read(about.message)?.least ?? '';
  if (least === '')
    return run(deletionOf(about), 'delete this volume, and restore the snapshot to a larger one');
  return run(
    `kedge volume resize ${object.name} ${shellWord(least)}${inNamespace(object)}`,
    'resize it to the size that its snapshot requires',
  );
}

/** The remedy for a snapshot whose volume can't be copied. */
function sourceNotReady(about: About<'Snapshot'>): Remedy {
  const { namespace, source } = about.object;
  const key = `${namespace}/${source.volume}`;
  if (sourceMissing.isIn(about.message) || sourceDeleting.isIn(about.message))
    return run(deletionOf(about), `volume ${key} does not exist any more: delete this snapshot`);
  return wait(
    `volume ${key}`,
    'once the volume is provisioned',
    deletionOf(about),
    'to delete the snapshot instead',
  );
}

/** The remedy for a snapshot that is being deleted while volumes are created from it. */
function restoreInFlight(about: About<'Snapshot'>): Remedy {
  const { namespace, name } = about.object;
  const made = about.world.volumes.find(({ source, ...volume }) => {
    if (!source || volume.handle) return false;
    const key = referredKey(source.snapshot, volume.namespace);
    return key?.namespace === namespace && key.name === name;
  });
  return wait(
    made ? `volume ${made.namespace}/${made.name}` : 'the volumes that are being restored from it',
    'once they are provisioned',
    made ? command('delete', 'volume', made) : deletionOf(about),
    'to delete them instead',
  );
}

/** The remedy for a volume whose service was deleted. */
function released(about: About<'Volume'>): Remedy {
  const { object } = about;
  const policy = object.reclaimPolicy ?? object.effectiveReclaimPolicy;
  if (policy === 'delete')
    return wait(
      'its driver',
      'once its data is deleted',
      command('patch', 'volume', object, `--patch '{"reclaimPolicy":"retain"}'`),
      'to keep the data',
    );
  return run(
    command('volume reuse', 'volume', object),
    'its service was deleted and its data kept: make it Available for another service',
  );
}

/** The remedy for a file system that is resized only while the volume is mounted. */
function fileSystemPending(about: About<'Volume'>): Remedy {
  const [user] = about.object.attachments ?? [];
  if (!user)
    return wait(
      'its next mount',
      'once an instance mounts it',
      command('volume resize', 'volume', about.object, about.object.size),
      'to request the resize again',
    );
  const [namespace = '', name = ''] = user.claim.split('/');
  return run(
    command('restart', 'instance', { namespace, name }),
    'its file system is resized at the next mount',
  );
}

/** The remedy for a volume that is nearly full. */
function nearlyFull(about: About<'Volume'>): Remedy {
  const { object, message, world } = about;
  const [user] = object.attachments ?? [];
  const label = `volume ${object.namespace}/${object.name}`;
  if (sharedDiskFull.isIn(message))
    return wait(
      `room on the disk of ${label}`,
      'once files, volumes or snapshots on it are deleted',
      user ? scaleToNothing(user.claim, world) : deletionOf(about),
      user ? 'to stop the service that writes to the volume' : 'to delete the volume',
    );
  return set(
    `size of ${label}`,
    `more than ${object.size}`,
    `kedge volume resize ${object.name} VALUE${inNamespace(object)}`,
    'or delete files in it',
  );
}

/** The remedy for a reconcile that is refused again and again. */
const reconcileRefused: RemedyOf = (about) => {
  const needed =
    'the end of the refusal (change the field, the limit or the rights of kedged that it names)';
  return about.kind === 'Instance'
    ? wait(
        needed,
        'on the next retry',
        command('scale', 'service', serviceOf(about.object), '--replicas 0'),
        'to stop its service',
      )
    : wait(needed, 'on the next retry', deletionOf(about), 'to delete it instead');
};

const otherwise: RemedyOf = (about) => again(about, 'its cause to be removed');

/** Reasons of conditions that volumes and snapshots have. */
export const storageReasons = {
  Provisioning: unmet('the driver is provisioning the volume', underWay),
  Creating: unmet('the driver is creating the snapshot', underWay),
  Deleting: unmet('the object is being deleted', underWay),
  TopologyUnsatisfied: unmet(
    'no node matches the storage class, its driver and the source snapshot',
    byKind({ Volume: topologyUnsatisfied }, otherwise),
  ),
  SnapshotNotReady: unmet(
    'the snapshot that the volume is restored from is not Ready',
    byKind({ Volume: snapshotNotReady }, otherwise),
  ),
  SizeTooSmall: unmet(
    'the volume is smaller than the snapshot that it is restored from',
    byKind({ Volume: sizeTooSmall }, otherwise),
  ),
  SourceNotReady: unmet(
    'the source volume of the snapshot is not ready',
    byKind({ Snapshot: sourceNotReady }, otherwise),
  ),
  RestoreInFlight: unmet(
    'volumes are being restored from the snapshot',
    byKind({ Snapshot: restoreInFlight }, otherwise),
  ),
  VolumeMissing: unmet('a probe did not find the volume at its provider', (about) =>
    wait(
      'a second probe',
      'if that finds the volume',
      deletionOf(about),
      'to delete the object instead',
    ),
  ),
  VolumeLost: unmet('the provider no longer has the volume', lost),
  SnapshotLost: unmet('the provider no longer has the snapshot', (about) =>
    run(deletionOf(about), 'its data is lost: delete the snapshot, and create another one'),
  ),
  OwnerGone: unmet(
    'the service of the volume was deleted',
    byKind({ Volume: released }, otherwise),
  ),
  Foreign: unmet('the data belongs to the cluster that this one is a copy of', (about) =>
    run(
      deletionOf(about),
      'delete the object here (the original cluster keeps the data), and create a new one',
    ),
  ),
  ReconcileRefused: unmet(
    'the reconcile of the volume, snapshot or instance is refused again and again',
    reconcileRefused,
  ),
  NearlyFull: unmet(
    'more than 90 % of the space or the inodes of the volume is used',
    byKind({ Volume: nearlyFull }, otherwise),
  ),
  WaitsForMount: unmet(
    'the file system is resized at the next mount',
    byKind({ Volume: fileSystemPending }, otherwise),
  ),
} as const;
