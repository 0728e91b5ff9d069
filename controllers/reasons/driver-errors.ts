import type { DriverErrorKind } from '@kedge/driver-sdk';
import {
  answerUnreadable,
  credentialAbsent,
  operationUnobserved,
  packageMissing,
  programsMissing,
  rootNeeded,
} from '@kedge/driver-sdk/messages';
import { parseQuantity } from 'kedge/objects';
import { removalByRoot } from '../messages/inputs.js';
import { placedThere } from '../messages/placement.js';
import { command, deletionOf, patchOf } from './commands.js';
import { shellWord } from '../messages/shell-word.js';
import { credentials } from './credentials/remedy.js';
import { wrongParameters } from './driver-parameters.js';
import { inputsOfInstance } from './instance-inputs.js';
import { remainingContent } from './remaining-content.js';
import { type ReasonEntry, unmet } from './reason.js';
import { byKind, type Remedy, run, set } from './remedy.js';
import { again, canRetry, inUse, nextTry, retryCommand, storageOf } from './storage-subject.js';
import type { About } from './world.js';

function unsupported(about: About): Remedy {
  const storage = storageOf(about);
  if (!storage) return again(about, 'a driver that supports the operation');
  if (storage.kind === 'Snapshot')
    return run(deletionOf(storage), 'its driver does not support snapshots: delete the snapshot');
  const { object } = storage;
  if (object.handle && object.sizeBytes)
    return run(
      patchOf('volume', object, { size: object.sizeBytes }),
      'its driver does not support this: request the current size of the volume',
    );
  return run(
    deletionOf(storage),
    'its driver does not support this: delete the volume, and create it with another storage class',
  );
}

/** A tenth of a size, at least 64Mi, as an example. */
function smaller(size: string): string {
  const mebibytes = (parseQuantity(size) ?? 0n) / 10n / 2n ** 20n;
  if (mebibytes >= 1_024n) return `${mebibytes / 1_024n}Gi`;
  return `${mebibytes > 64n ? mebibytes : 64n}Mi`;
}

function noRoom(about: About): Remedy {
  const storage = storageOf(about);
  if (storage?.kind !== 'Volume' || storage.object.handle)
    return again(
      about,
      'free capacity at the provider (delete volumes and snapshots that are not needed)',
    );
  const { object } = storage;
  const { exhaustedTopologies = [] } = object;
  if (exhaustedTopologies.length > 0) {
    const [namespace, name] = placedThere.read(about.message)?.instance.split('/') ?? [];
    if (namespace !== undefined && name !== undefined)
      return run(
        command('restart', 'instance', { namespace, name }),
        `another place may have capacity, but instance ${namespace}/${name} is placed: create the instance again, and it follows the volume`,
      );
    const places = exhaustedTopologies.flatMap(({ topology }) =>
      Object.entries(topology).map(([label, value]) => `${label}=${value}`),
    );
    return again(about, `capacity in ${places.join(' or ')}, or a node elsewhere that can use it`);
  }
  return set(
    `size of volume ${object.namespace}/${object.name}`,
    `a size that fits the free capacity of the provider, such as ${smaller(object.size)}`,
    patchOf('volume', object, { size: smaller(object.size) }),
    canRetry(storage)
      ? `or free capacity at the provider, then: ${retryCommand(storage)}`
      : `or free capacity at the provider: the volume is retried automatically ${nextTry(storage)}`,
  );
}

function gone(about: About): Remedy {
  const storage = storageOf(about);
  if (!storage) return again(about, 'its data to exist again at the provider');
  if (storage.kind === 'Snapshot')
    return run(deletionOf(storage), 'the provider no longer has its data: delete the snapshot');
  return storage.object.handle
    ? lost(about)
    : again(about, 'its data to exist again at the provider');
}

/** The remedy for a call that needs another credential, or the rights of root on the node. */
function notPermitted(about: About): Remedy {
  const { message } = about;
  const removal = removalByRoot.commandIn(message);
  if (removal !== undefined)
    return run(
      removal,
      'remove it on the node of the volume, and the deletion is retried automatically',
    );
  const storage = storageOf(about);
  return storage && rootNeeded.isIn(message)
    ? again(about, 'kedged on its node to run as root')
    : credentials(about, 'a credential that permits the call');
}

/** The remedy for a volume whose data is lost: restore a snapshot, if there is one. */
export function lost(about: About): Remedy {
  const storage = storageOf(about);
  if (storage?.kind !== 'Volume') return again(about, 'its data to exist again at the provider');
  const { namespace, name } = storage.object;
  const copy = about.world.snapshots.find(
    (s) => s.namespace === namespace && s.source.volume === name && s.status === 'Ready',
  );
  if (!copy)
    return run(
      deletionOf(storage),
      'the provider no longer has its data, and no snapshot of it is Ready: delete the volume',
    );
  const restore = `kedge snapshot restore ${copy.name} --to ${name}-restored -n ${namespace}`;
  return run(restore, `the provider no longer has its data: restore snapshot ${copy.name}`);
}

/** The remedy for a provider that does not answer, or whose answer is not of its API. */
function noAnswer(about: About, needed: string): Remedy {
  if (!answerUnreadable.isIn(about.message)) return again(about, needed);
  const driver = storageOf(about)?.object.driver;
  const endpoint =
    driver === undefined ? 'the endpoint of its driver' : `[drivers.${driver}].endpoint`;
  return again(
    about,
    `an answer of the provider's API (check ${endpoint}, and proxies between the node and the provider)`,
  );
}

function unavailable(about: About): Remedy {
  const install = packageMissing.commandIn(about.message);
  if (install !== undefined)
    return run(
      install,
      'install the package on the node of kedged: the operation is retried automatically',
    );
  if (credentialAbsent.isIn(about.message))
    return credentials(
      about,
      'a credential that the provider accepts, if its metadata service gives this node none',
    );
  const packages = programsMissing.read(about.message)?.packages ?? [];
  if (packages.length === 0)
    return noAnswer(about, 'the provider, or a program of the node, to be available');
  const storage = storageOf(about);
  const next =
    storage && canRetry(storage)
      ? `install the package on the node, then ${retryCommand(storage)}`
      : 'install the package on the node: the operation is retried automatically';
  return run(`apt-get install ${packages.map(shellWord).join(' ')}`, next);
}

/** The meaning of driver error kinds and their remedies. A missing kind does not compile. */
export const driverErrors = {
  NotFound: unmet('the provider does not have the resource', gone),
  AlreadyExists: unmet('the provider already has a different resource with this name', (about) =>
    again(about, 'its name at the provider to be free (rename or delete the resource that has it)'),
  ),
  InvalidParameters: unmet(
    'a parameter, or an object that a parameter refers to, is missing or invalid',
    byKind({ Instance: inputsOfInstance }, wrongParameters),
  ),
  CredentialsRejected: unmet('the provider rejects the credentials', (about) =>
    credentials(about, 'a credential that the provider accepts'),
  ),
  PermissionDenied: unmet('the provider or the node does not permit the call', notPermitted),
  QuotaExceeded: unmet('the capacity of the provider, or a quota, is exhausted', noRoom),
  Throttled: unmet('the provider limits the rate of calls', (about) =>
    again(about, 'the provider to accept calls again'),
  ),
  InUse: unmet('the object is in use', byKind({ Namespace: remainingContent }, inUse)),
  Unsupported: unmet('the driver does not support the operation', unsupported),
  Timeout: unmet('no usable answer came in time: the outcome of the call is unknown', (about) =>
    operationUnobserved.isIn(about.message)
      ? credentials(about, 'a credential that may read the operation and its result')
      : noAnswer(about, 'the provider to answer'),
  ),
  Unavailable: unmet('the provider, or a program on the node, is unavailable', unavailable),
  Internal: unmet('the driver failed', (about) =>
    again(about, "the cause of the driver's error to be removed"),
  ),
} as const satisfies Readonly<Record<DriverErrorKind, ReasonEntry>>;
