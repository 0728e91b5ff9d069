import type { Volume } from '@kedge/api/kinds';
import {
  hostPathMissing,
  hostPathRefused,
  parameterRefused,
  parameterToSet,
} from '@kedge/driver-sdk/messages';
import { classMissing, driverMissing, leftElsewhere } from '../messages/storage.js';
import { parameterReference } from '../references/secret-reference.js';
import { castOf, command, creationIn, deletionOf, patchOf } from './commands.js';
import { createClass, editClass } from './credentials/class-commands.js';
import { endOfDeletion, incompleteCredential } from './credentials/remedy.js';
import { callParameters, isClassGone, secretsOf } from './credentials/sources.js';
import { shellWord } from '../messages/shell-word.js';
import { missingInput } from './missing-input.js';
import { type Remedy, run, set } from './remedy.js';
import { again, canRetry, type Storage, storageOf } from './storage-subject.js';
import type { About } from './world.js';

/**
 * The remedy for a secret of a driver call that is missing, with all keys that the call needs, or that lacks a key.
 * Undefined if the message names none, or for an instance one that no call of its volume needs.
 */
export function missingSecret(about: About, storage: Storage): Remedy | undefined {
  const reported = missingInput(about.message);
  if (reported?.kind !== 'secret') return undefined;
  const { namespace, name, key: lacking } = reported;
  const used = secretsOf(storage, about).filter(
    (each) => each.namespace === namespace && each.name === name,
  );
  // It is a secret of the workload, which is reported with the same reasons.
  if (used.length === 0 && about.kind === 'Instance') return undefined;
  if (lacking !== undefined)
    return set(
      `data.${lacking} of secret ${namespace}/${name}`,
      'the value for the driver',
      patchOf('secret', { namespace, name }, { data: { [lacking]: 'VALUE' } }),
      endOfDeletion(storage, false),
    );
  // Its parameters are unknown to a reader without rights to its class.
  const keys = used.length === 0 ? ['KEY'] : [...new Set(used.map(({ key }) => key))];
  const literals = keys.map((key) => ` --from-literal ${shellWord(key)}=VALUE`).join('');
  const fields = keys.map((key) => `data.${key}`).join(' and ');
  return set(
    `${fields} of secret ${namespace}/${name}`,
    keys.length === 1 ? 'the value for the driver' : 'the values for the driver',
    creationIn(
      namespace,
      about.world,
      `kedge create secret ${shellWord(name)} -n ${shellWord(namespace)}${literals}`,
    ),
    endOfDeletion(storage, false),
  );
}

/**
 * The remedy for a parameter whose value the driver refuses, and which a secret contains. Undefined if the message
 * names no such parameter.
 */
function wrongSecret(about: About, storage: Storage): Remedy | undefined {
  const key = parameterRefused.read(about.message)?.key ?? '';
  const value = callParameters(storage, about)[key];
  const parsed =
    value === undefined ? undefined : parameterReference(key, value, storage.object.namespace);
  if (parsed?.type !== 'reference') return undefined;
  const { namespace, name, key: field } = parsed.reference;
  const patch = patchOf('secret', { namespace, name }, { data: { [field]: 'VALUE' } });
  const needed = 'a value that the driver accepts: the call is repeated with it';
  return set(`data.${field} of secret ${namespace}/${name}`, needed, patch, endOfDeletion(storage));
}

/**
 * Returns the remedy for a rejected host path, which can be changed before provisioning; undefined for other messages.
 */
function wrongPath({ message }: About, storage: Storage): Remedy | undefined {
  if (storage.kind !== 'Volume' || !hostPathRefused.isIn(message)) return undefined;
  const { object } = storage;
  const { namespace, name } = object;
  const missing = hostPathMissing.read(message)?.path;
  if (missing !== undefined)
    return run(
      patchOf('volume', object, { parameters: { createIfMissing: 'true' } }),
      `create directory ${missing} on the node, or let kedged create it, which needs [storage].allowCreateMissing`,
    );
  return set(
    `parameters.hostPath of volume ${namespace}/${name}`,
    'a directory below an entry of [storage].hostPathAllowlist',
    command('edit', 'volume', object),
  );
}

/** Whether it is unknown if a volume was ever provisioned: it can still get other parameters. */
function isOutcomeUnknown({ status, handle = '', metadata }: Volume): boolean {
  return status === 'Stalled' && handle === '' && !metadata.deletionRequestedAt;
}

/** The remedies that change the refused parameters of a volume: where they are given, and in the other place. */
interface ParameterChange {
  readonly field: string;
  readonly command: string;
  /** The command for the other place, with its purpose; empty for a volume without a class. */
  readonly other: string;
}

/**
 * Returns where to change the parameters that a message refuses: at the volume, whose values come before those of its
 * class, if it gives one of them, else at the class. A message that names none may be about any.
 */
function changeOf(volume: Volume, about: About): ParameterChange {
  const { message } = about;
  const { storageClassName, parameters: own = {} } = volume;
  const named = [...parameterRefused.readAll(message), ...parameterToSet.readAll(message)];
  const given = named.map(({ key }) => key).filter((key) => Object.hasOwn(own, key));
  const isOwn = named.length === 0 ? Object.keys(own).length > 0 : given.length > 0;
  const label = `volume ${volume.namespace}/${volume.name}`;
  const edit = command('edit', 'volume', volume);
  if (storageClassName === '') return { field: `parameters of ${label}`, command: edit, other: '' };
  const storage = { kind: 'Volume', object: volume } as const;
  if (isClassGone(storage, about))
    return {
      field: `parameters of ${label}`,
      command: edit,
      other: `or create storage class ${storageClassName} again: ${createClass(storage, about)}`,
    };
  const ofClass = editClass(storageClassName);
  if (!isOwn)
    return {
      field: `parameters of storage class ${storageClassName}`,
      command: ofClass,
      other: `for the size, or parameters of this volume only: ${edit}`,
    };
  return {
    field: `parameters of ${label}`,
    command: edit,
    other: `for parameters of its storage class: ${ofClass}`,
  };
}

/**
 * The remedy for a volume with data whose message refuses parameters: they can only be changed in its class. Undefined if
 * it names none, or one that the volume has itself.
 */
function parametersOfClass(volume: Volume, about: About): Remedy | undefined {
  const { storageClassName, parameters: own = {} } = volume;
  const keys = parameterRefused.readAll(about.message).map(({ key }) => key);
  if (keys.length === 0 || keys.some((key) => Object.hasOwn(own, key))) return undefined;
  if (storageClassName === '' || isClassGone({ kind: 'Volume', object: volume }, about))
    return undefined;
  const fields = [...new Set(keys)].map((key) => `parameters.${key}`).join(' and ');
  return set(
    `${fields} of storage class ${storageClassName}`,
    'what its driver requires: the call is repeated with it',
    editClass(storageClassName),
  );
}

/** The remedy for a volume or snapshot whose driver refuses to delete it with its parameters. */
function refusedDeletion({ kind, object }: Storage, about: About): Remedy {
  const retain = patchOf(kind.toLowerCase(), object, { reclaimPolicy: 'retain' });
  const without = 'remove the object without a deletion';
  if (kind === 'Snapshot' || (object.handle ?? '') !== '' || leftElsewhere.isIn(about.message))
    return run(retain, without);
  const change = changeOf(object, about);
  return set(
    change.field,
    'the values that its driver requires: the deletion continues with them',
    change.command,
    `or ${without}: ${retain}`,
  );
}

/** The remedy for an invalid parameter, or for a missing object that it refers to. */
export function wrongParameters(about: About): Remedy {
  const storage = storageOf(about);
  if (!storage) return again(about, 'its cause to be removed');
  const { kind, object } = storage;
  const { nodes } = about.world;
  const className = object.storageClassName ?? '';
  const absent = classMissing.read(about.message)?.storageClass;
  if (absent !== undefined) {
    const { driver = 'local' } = object;
    const create =
      absent === className
        ? createClass(storage, about)
        : castOf(['kind: StorageClass', `name: ${absent}`, `driver: ${driver || 'local'}`]);
    return run(create, `create storage class ${absent}: the volume is retried automatically`);
  }
  const secret = missingSecret(about, storage) ?? wrongSecret(about, storage);
  if (secret) return secret;
  const refused = parameterRefused.readAll(about.message).map(({ key }) => key);
  const incomplete = incompleteCredential(refused, storage, about);
  if (incomplete) return incomplete;
  if (className !== '' && driverMissing.isIn(about.message)) {
    const known = [...new Set(nodes.flatMap((node) => node.drivers ?? []))].join(', ');
    const value = known === '' ? 'a driver of kedged' : `one of ${known}`;
    if (isClassGone(storage, about)) return again(about, 'its driver to be known to kedged');
    return set(`driver of storage class ${className}`, value, editClass(className));
  }
  const path = wrongPath(about, storage);
  if (path) return path;
  if (object.metadata.deletionRequestedAt !== undefined) return refusedDeletion(storage, about);
  if (kind === 'Volume' && (isOutcomeUnknown(object) || canRetry(storage))) {
    const change = changeOf(object, about);
    const value = 'the values that its driver requires: the volume is provisioned with them';
    return set(change.field, value, change.command, change.other);
  }
  // It has data.
  if (kind === 'Volume' && (object.handle ?? '') !== '')
    return parametersOfClass(object, about) ?? again(about, 'the driver to accept its parameters');
  return run(
    deletionOf(storage),
    "its parameters can't be changed any more: delete it, and create it again",
  );
}
