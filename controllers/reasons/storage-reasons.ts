import { command, deletionOf, inNamespace } from './commands.js';
import { lost } from './driver-errors.js';
import { topologyUnsatisfied } from './placement.js';
import { unmet } from './reason.js';
import { byKind, type Remedy, type RemedyOf, run, wait } from './remedy.js';
import { again, retryCommand } from './storage-subject.js';
import { type About, findByKey } from './world.js';

/** The remedy while the driver works. */
const underWay: RemedyOf = (about) =>
  wait('its driver', 'when that has finished', deletionOf(about), 'to give it up');

/** The remedy for a volume that is created from a snapshot. */
function snapshotNotReady(about: About<'Volume'>): Remedy {
  const [, key = ''] = /snapshot "([^"]+)"/.exec(about.message) ?? [];
  const snapshot = findByKey(about.world.snapshots, key);
  if (snapshot?.status === 'Failed' && !snapshot.handle)
    return run(
      retryCommand({ kind: 'Snapshot', object: snapshot }),
      `snapshot ${key} failed: fix the reported cause, then retry it`,
    );
  if (!snapshot && /does not exist/.test(about.message))
    return run(
      deletionOf(about),
      `snapshot ${key} is gone: delete this volume, and restore another one`,
    );
  return wait(`snapshot ${key}`, 'once that is Ready', deletionOf(about), 'to do without it');
}

/** The remedy for a volume that is smaller than its source snapshot. */
function sizeTooSmall(about: About<'Volume'>): Remedy {
  const { object } = about;
  const [, least = ''] = /needs: (\d+) bytes/.exec(about.message) ?? [];
  if (least === '') return run(deletionOf(about), 'delete it, and restore a larger one');
  return run(
    `kedge volume resize ${object.name} ${least}${inNamespace(object)}`,
    'make it as large as its snapshot needs',
  );
}

/** The remedy for a snapshot whose volume can't be copied. */
function sourceNotReady(about: About<'Snapshot'>): Remedy {
  const { namespace, source } = about.object;
  const key = `${namespace}/${source.volume}`;
  if (/does not exist any more|is being deleted/.test(about.message))
    return run(
      deletionOf(about),
      `volume ${key} is gone, so nothing can be copied: delete this snapshot`,
    );
  return wait(`volume ${key}`, 'once that is made', deletionOf(about), 'to do without the copy');
}

/** The remedy for a snapshot that is being deleted while volumes are created from it. */
function restoreInFlight(about: About<'Snapshot'>): Remedy {
  const { namespace, name } = about.object;
  const made = about.world.volumes.find(
    ({ source, ...volume }) =>
      [name, `${name}.${namespace}.svc`].includes(source?.snapshot ?? '') && !volume.handle,
  );
  return wait(
    made ? `volume ${made.namespace}/${made.name}` : 'the volumes that are made from it',
    'once they are made',
    made ? command('delete', 'volume', made) : deletionOf(about),
    'to do without them',
  );
}

/** The remedy for a volume whose service was deleted. */
function released(about: About<'Volume'>): Remedy {
  const { object } = about;
  const policy = object.reclaimPolicy ?? object.effectiveReclaimPolicy;
  if (policy === 'delete')
    return wait(
      'its driver',
      'when its data is deleted',
      command('patch', 'volume', object, `--patch '{"reclaimPolicy":"retain"}'`),
      'to keep the data',
    );
  return run(
    command('volume reuse', 'volume', object),
    'its service is gone and its data was kept: make it Available for another one',
  );
}

/** The remedy for a file system that is resized only while the volume is mounted. */
function fileSystemPending(about: About<'Volume'>): Remedy {
  const [user] = about.object.attachments ?? [];
  if (!user)
    return wait(
      'its next mount',
      'when an instance uses it',
      command('volume resize', 'volume', about.object, about.object.size),
      'to ask again',
    );
  const [namespace = '', name = ''] = user.claim.split('/');
  return run(
    command('restart', 'instance', { namespace, name }),
    'its file system grows when it is mounted again',
  );
}

const otherwise: RemedyOf = (about) => again(about, 'what the message names');

/** Reasons of conditions that volumes and snapshots have. */
export const storageReasons = {
  Provisioning: unmet('the driver makes the volume', underWay),
  Creating: unmet('the driver makes the snapshot', underWay),
  Deleting: unmet('the object is being deleted', underWay),
  TopologyUnsatisfied: unmet(
    'no node may have the volume by allowedTopologies of its class',
    byKind({ Volume: topologyUnsatisfied }, otherwise),
  ),
  SnapshotNotReady: unmet(
    'the snapshot that the volume is made from is not Ready',
    byKind({ Volume: snapshotNotReady }, otherwise),
  ),
  SizeTooSmall: unmet(
    'the volume is smaller than the snapshot that it is made from',
    byKind({ Volume: sizeTooSmall }, otherwise),
  ),
  SourceNotReady: unmet(
    "the volume of the snapshot can't be copied",
    byKind({ Snapshot: sourceNotReady }, otherwise),
  ),
  RestoreInFlight: unmet(
    'volumes are being made from the snapshot',
    byKind({ Snapshot: restoreInFlight }, otherwise),
  ),
  VolumeLost: unmet('the provider does not have the volume any more', lost),
  SnapshotLost: unmet('the provider does not have the snapshot any more', (about) =>
    run(deletionOf(about), 'its data is gone: delete it, and take another one'),
  ),
  OwnerGone: unmet('the service of the volume is gone', byKind({ Volume: released }, otherwise)),
  Foreign: unmet('the cluster that this one is a copy of has the data', (about) =>
    run(deletionOf(about), 'the original keeps its data: delete it here, and make a new one'),
  ),
  WaitsForMount: unmet(
    'the file system grows at the next mount',
    byKind({ Volume: fileSystemPending }, otherwise),
  ),
} as const;
