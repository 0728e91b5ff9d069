import { findCondition } from 'kedge/objects';
import type { Snapshot, Volume } from '@kedge/api/kinds';
import { quotedSnapshot, volumeLabel } from '../messages/storage.js';
import { command, deletionOf, patchOf, scaleToNothing, serviceOfClaim } from './commands.js';
import { type Remedy, run, wait } from './remedy.js';
import { type About, findByKey } from './world.js';

/** A volume or a snapshot: an object that a driver provisions. */
export type Storage =
  | { readonly kind: 'Volume'; readonly object: Volume }
  | { readonly kind: 'Snapshot'; readonly object: Snapshot };

/** The volumes that a message about an instance names, as `<namespace>/<name>`; omits other words after "volume". */
export function namedVolumes(message: string): readonly string[] {
  const words = volumeLabel.readAll(message).map(({ volume }) => volume);
  return words.filter((word) => word.includes('/'));
}

/** The volume or snapshot of a remedy; for an instance, one of its mounted volumes. Undefined if there is none. */
export function storageOf(about: About): Storage | undefined {
  if (about.kind === 'Volume' || about.kind === 'Snapshot') return about;
  for (const key of namedVolumes(about.message)) {
    const object = findByKey(about.world.volumes, key);
    if (object) return { kind: 'Volume', object };
  }
  return undefined;
}

/** The command that provisions a failed object again. */
export function retryCommand({ kind, object }: Storage): string {
  return kind === 'Volume'
    ? command('volume retry-provision', 'volume', object)
    : command('snapshot retry', 'snapshot', object);
}

/** Whether a user can retry the object: only a failed provisioning can be retried manually. */
export function canRetry({ object }: Storage): boolean {
  const isDeleting = object.metadata.deletionRequestedAt !== undefined;
  return object.status === 'Failed' && !object.handle && !isDeleting;
}

/** The time of the next automatic driver call. */
export function nextTry({ object }: Storage): string {
  const at = object.lastOperation?.nextTryAt;
  return at ? `at ${at} at the latest` : 'on the next retry';
}

/** The remedy for a failed call: the retry command after a final failure, else the time of the automatic retry. */
export function again(about: About, needed: string): Remedy {
  const storage = storageOf(about);
  if (!storage) return wait(needed, 'on the next retry', deletionOf(about), 'to delete it instead');
  if (canRetry(storage)) return run(retryCommand(storage), `it needs ${needed}; then retry it`);
  return wait(needed, nextTry(storage), ...insteadOf(storage, about));
}

/** The alternative to waiting for an automatic retry: its command and purpose. */
function insteadOf({ kind, object }: Storage, { message }: About): readonly [string, string] {
  const isDeleting = object.metadata.deletionRequestedAt !== undefined;
  // The policy can be changed until the driver is requested to delete the data.
  const isAsked = kind === 'Volume' && (object.dataDeletion?.askedAt ?? '') !== '';
  // Without a handle, what an attempt may have left is deleted under any policy.
  if (isDeleting && kind === 'Volume' && !isAsked && object.handle)
    return [
      command('patch', 'volume', object, `--patch '{"reclaimPolicy":"retain"}'`),
      'to remove the object and keep the data',
    ];
  if (isDeleting)
    return [command('delete', kind.toLowerCase(), object), 'to request its deletion again'];
  if (kind === 'Volume' && object.ownerService) {
    const [namespace = '', name = ''] = object.ownerService.split('/');
    const service = { namespace, name };
    return [command('scale', 'service', service, '--replicas 0'), 'to stop its service'];
  }
  if (kind === 'Volume' && object.handle) return withoutDeletion(object, message);
  return [command('delete', kind.toLowerCase(), object), 'to delete it instead'];
}

/** The alternative for a volume with data: its provider may answer again, so it is not to delete the volume. */
function withoutDeletion(volume: Volume, message: string): readonly [string, string] {
  const growth = findCondition(volume.conditions, 'Resizing');
  const { sizeBytes = '' } = volume;
  if (growth?.status === 'True' && growth.message === message && sizeBytes !== '')
    return [patchOf('volume', volume, { size: sizeBytes }), 'to cancel its growth'];
  return [command('volume explain', 'volume', volume), 'to see its calls'];
}

/**
 * The remedy for a volume whose deletion or release is blocked: stop the instance that uses it, or wait for its
 * snapshot. An instance that can't get its volume waits for what holds the volume elsewhere.
 */
export function inUse(about: About): Remedy {
  const storage = storageOf(about);
  if (storage?.kind !== 'Volume') return again(about, 'its user to release it');
  const { object } = storage;
  const { world, message } = about;
  const [user] = object.attachments ?? [];
  if (user) {
    const { namespace, name } = serviceOfClaim(user.claim, world);
    // An instance that waits for the volume does not hold it: stopping it would release nothing.
    const isWaiting =
      about.kind === 'Instance'
        ? user.claim === `${about.object.namespace}/${about.object.name}`
        : user.state === 'Reserved';
    if (isWaiting)
      return wait(
        'the other holder of the volume',
        'once the volume is released there',
        scaleToNothing(user.claim, world),
        'to stop waiting',
      );
    return run(
      scaleToNothing(user.claim, world),
      `instance ${user.claim} uses it: stop service ${namespace}/${name}`,
    );
  }
  const named = quotedSnapshot.readAll(message).map(({ snapshot }) => snapshot);
  const copy = world.snapshots.find((each) => named.includes(`${each.namespace}/${each.name}`));
  if (copy)
    return wait(
      `snapshot ${copy.namespace}/${copy.name}`,
      'once the snapshot is created',
      command('delete', 'snapshot', copy),
      'to delete it instead',
    );
  return again(about, 'its user to release it');
}
