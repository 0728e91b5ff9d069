import type { DriverErrorKind } from '@kedge/driver-sdk';
import { deletionOf, patchOf } from './commands.js';
import { credentials, wrongParameters } from './driver-parameters.js';
import { inputsOfInstance } from './instance-inputs.js';
import { remainingContent } from './remaining-content.js';
import { type ReasonEntry, unmet } from './reason.js';
import { byKind, type Remedy, run, set } from './remedy.js';
import { again, canRetry, inUse, nextTry, retryCommand, storageOf } from './storage-subject.js';
import type { About } from './world.js';

function unsupported(about: About): Remedy {
  const storage = storageOf(about);
  if (!storage) return again(about, 'a driver that does this');
  if (storage.kind === 'Snapshot')
    return run(deletionOf(storage), 'its driver makes no snapshots: delete it');
  const { object } = storage;
  if (object.handle && object.sizeBytes)
    return run(
      patchOf('volume', object, { size: object.sizeBytes }),
      'its driver does not do this: ask for the size that it has',
    );
  return run(deletionOf(storage), 'its driver does not do this: delete it, and name another class');
}

/** A tenth of a size, as an example. */
function smaller(size: string): string {
  const [, digits = '1', unit = 'Mi'] = /^(\d+)(.*)$/.exec(size) ?? [];
  const tenth = Math.floor(Number(digits) / 10);
  return tenth >= 1 ? `${tenth}${unit}` : '64Mi';
}

function noRoom(about: About): Remedy {
  const storage = storageOf(about);
  if (storage?.kind !== 'Volume' || storage.object.handle)
    return again(about, 'room at the provider: delete volumes and snapshots that are not needed');
  const { object } = storage;
  return set(
    `size of volume ${object.namespace}/${object.name}`,
    `what the provider has left, such as ${smaller(object.size)}`,
    patchOf('volume', object, { size: smaller(object.size) }),
    canRetry(storage)
      ? `or make room there, then: ${retryCommand(storage)}`
      : `or make room there, and it goes on by itself ${nextTry(storage)}`,
  );
}

function gone(about: About): Remedy {
  const storage = storageOf(about);
  if (!storage) return again(about, 'the data to be there again');
  if (storage.kind === 'Snapshot')
    return run(deletionOf(storage), 'the provider does not have its data: delete it');
  return storage.object.handle ? lost(about) : again(about, 'the data to be there again');
}

/** The remedy for a volume whose data is lost: a snapshot, if there is one. */
export function lost(about: About): Remedy {
  const storage = storageOf(about);
  if (storage?.kind !== 'Volume') return again(about, 'the data to be there again');
  const { namespace, name } = storage.object;
  const copy = about.world.snapshots.find(
    (s) => s.namespace === namespace && s.source.volume === name && s.status === 'Ready',
  );
  if (!copy)
    return run(deletionOf(storage), 'the provider does not have its data, and no snapshot does');
  const restore = `kedge snapshot restore ${copy.name} --to ${name}-restored -n ${namespace}`;
  return run(restore, `the provider does not have its data: restore snapshot ${copy.name}`);
}

function unavailable(about: About): Remedy {
  const [, packages] = /\(package ([-a-z0-9, ]+) on Debian/.exec(about.message) ?? [];
  if (packages === undefined) return again(about, 'the provider, or what the message names');
  const storage = storageOf(about);
  const next =
    storage && canRetry(storage)
      ? `install it on the node, then ${retryCommand(storage)}`
      : 'install it on the node, and it goes on by itself';
  return run(`apt-get install ${packages.replaceAll(',', '')}`, next);
}

/** The meaning of driver error kinds and their remedies. A missing kind does not compile. */
export const driverErrors = {
  NotFound: unmet('the provider does not have it', gone),
  AlreadyExists: unmet('the provider has something else in its place', (about) =>
    again(about, 'its place at the provider: remove what is there'),
  ),
  InvalidParameters: unmet(
    'something that it is to be made or started with is missing or wrong',
    byKind({ Instance: inputsOfInstance }, wrongParameters),
  ),
  CredentialsRejected: unmet('the provider refuses the credentials', (about) =>
    credentials(about, 'a credential that the provider accepts'),
  ),
  PermissionDenied: unmet('the provider or the node does not permit the call', (about) =>
    credentials(about, 'a credential that may do this'),
  ),
  QuotaExceeded: unmet('the provider has no room left, or a quota is used up', noRoom),
  Throttled: unmet('the provider asks for fewer calls', (about) =>
    again(about, 'the provider to take calls again'),
  ),
  InUse: unmet('something else uses it', byKind({ Namespace: remainingContent }, inUse)),
  Unsupported: unmet('the driver does not do this', unsupported),
  Timeout: unmet('the provider did not answer in time; what it did is looked up', (about) =>
    again(about, 'an answer of the provider'),
  ),
  Unavailable: unmet("the provider, or a program on the node, can't be used", unavailable),
  Internal: unmet('the driver failed', (about) =>
    again(about, 'a call of the driver that succeeds'),
  ),
} as const satisfies Readonly<Record<DriverErrorKind, ReasonEntry>>;
