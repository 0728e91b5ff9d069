import type { Volume } from '@kedge/api/kinds';
import { abandonWords } from '../../messages/abandoned-deletion.js';
import { command, patchOf } from '../commands.js';
import { type Remedy, run, set } from '../remedy.js';
import { again, type Storage, storageOf } from '../storage-subject.js';
import type { About } from '../world.js';
import type { SecretReference } from '../../references/secret-reference.js';
import { createClass, editClass } from './class-commands.js';
import {
  type CredentialSource,
  credentialSource,
  declaredOf,
  placeOf,
  wholeOf,
} from './sources.js';

/**
 * Whether another policy does not end a deletion: a call may be deleting the data, because the outcome of the last one is
 * unknown, or it is reported with a time before the request for the deletion; or the outcome of a creation is awaited
 * first; or the policy did not end it. A snapshot without a handle has no data.
 */
function isLocked({ kind, object }: Storage): boolean {
  const { handle = '', lastOperation, metadata, reclaimPolicy, status } = object;
  const isAwaited = status === (kind === 'Volume' ? 'Stalled' : 'Creating');
  if (isAwaited || reclaimPolicy === 'retain') return true;
  if (kind === 'Snapshot' && handle === '') return false;
  const askedAt =
    kind === 'Volume'
      ? (object.dataDeletion?.askedAt ?? '')
      : lastOperation?.call === 'deleteSnapshot'
        ? (metadata.deletionRequestedAt ?? '')
        : '';
  if (askedAt === '') return false;
  const isUnknown = lastOperation?.call.startsWith('delete') && lastOperation.outcome === 'Timeout';
  return isUnknown === true || Date.parse(lastOperation?.startedAt ?? '') < Date.parse(askedAt);
}

/** The command that removes an object although the end of its deletion is not known. */
function abandonment({ kind, object }: Storage): string {
  return command('annotate', kind.toLowerCase(), object, abandonWords(object));
}

/**
 * How the deletion of an object ends without the provider; the empty text for an object that is not being deleted.
 * @param isAsked false if the driver is not called, because a secret is missing: then an object without a handle waits for
 * it under any policy
 */
export function endOfDeletion(storage: Storage, isAsked = true): string {
  const { kind, object } = storage;
  if (!object.metadata.deletionRequestedAt) return '';
  const isUnmade = (object.handle ?? '') === '';
  if (isLocked(storage) || (isUnmade && !isAsked))
    return `or, if the credential never returns, remove the object although its data may be at the provider or not (kedge admin orphans lists what is left): ${abandonment(storage)}`;
  const retain = patchOf(kind.toLowerCase(), object, { reclaimPolicy: 'retain' });
  return `or remove the object, and keep what may be at the provider: ${retain}`;
}

function inSecret(
  [first, ...others]: readonly [SecretReference, ...SecretReference[]],
  value: string,
  end: string,
): Remedy {
  const { namespace, name } = first;
  // An access key consists of two values, and either may be wrong.
  const same = others.filter((each) => each.namespace === namespace && each.name === name);
  const keys = new Set([first, ...same].map(({ key }) => key));
  const data = Object.fromEntries([...keys].map((key) => [key, 'VALUE']));
  const fields = [...keys].map((key) => `data.${key}`).join(' and ');
  return set(
    `${fields} of secret ${namespace}/${name}`,
    value,
    patchOf('secret', first, { data }),
    end,
  );
}

/** The remedy for a credential of a snapshot that nothing but the snapshot has: it can't be changed. */
function captured(storage: Storage, about: About, value: string): Remedy {
  const { kind, object } = storage;
  if (object.metadata.deletionRequestedAt === undefined)
    return again(about, `${value} at the provider`);
  if (isLocked(storage))
    return run(
      abandonment(storage),
      'its credential is that of its deleted volume, and its deletion may be going: if the credential never returns, remove the object, and look for the copy at the provider',
    );
  return run(
    patchOf(kind.toLowerCase(), object, { reclaimPolicy: 'retain' }),
    'its credential is that of its deleted volume: remove the object, and delete the copy at the provider',
  );
}

/** The remedy for a credential that the volume has itself, or can have: it replaces that of a deleted class. */
function inVolume(volume: Volume, value: string, end: string): Remedy {
  const label = `parameters of volume ${volume.namespace}/${volume.name}`;
  return set(label, value, command('edit', 'volume', volume), end);
}

/** Remedies that may be combined, in the order of preference. */
function joined(...alternatives: readonly string[]): string {
  return alternatives.filter((each) => each !== '').join('; ');
}

/** The remedy for an object whose class was deleted, with the literal of its credential. */
function withoutClass(
  { volume, isNameFree }: Extract<CredentialSource, { readonly type: 'gone' }>,
  storage: Storage,
  about: About,
  value: string,
): Remedy {
  const end = endOfDeletion(storage);
  const whole = wholeOf(storage, about);
  const { storageClassName = '' } = storage.object;
  const needed = whole.length === 0 ? value : `${value} (${whole.join(' and ')})`;
  const create = createClass(storage, about, whole);
  if (volume) {
    const again = `or create storage class ${storageClassName} again, with the values of its credential: ${create}`;
    return inVolume(volume, needed, joined(isNameFree ? again : '', end));
  }
  if (!isNameFree) return captured(storage, about, value);
  return set(`parameters of a new storage class ${storageClassName}`, needed, create, end);
}

/** The remedy for a credential that is given at a place: with the volume or with the class. */
function inPlace(
  source: Exclude<CredentialSource, { readonly type: 'secrets' }>,
  storage: Storage,
  about: About,
  value: string,
): Remedy {
  const end = endOfDeletion(storage);
  switch (source.type) {
    case 'volume':
      return inVolume(source.volume, value, end);
    case 'captured':
      return captured(storage, about, value);
    case 'gone':
      return withoutClass(source, storage, about, value);
    case 'class': {
      const className = storage.object.storageClassName ?? '';
      if (className === '') return again(about, `${value} at the provider`);
      return set(`parameters of storage class ${className}`, value, editClass(className), end);
    }
  }
}

/** The remedy for credentials that the provider rejects. */
export function credentials(about: About, value: string): Remedy {
  const storage = storageOf(about);
  if (!storage) return again(about, `${value} at the provider`);
  const source = credentialSource(storage, about);
  if (source.type !== 'secrets') return inPlace(source, storage, about, value);
  const [first, ...others] = source.references;
  if (first) return inSecret([first, ...others], value, endOfDeletion(storage));
  return again(about, `${value} at the provider`);
}

/**
 * The remedy for a part of a credential that is missing or that the driver refuses.
 * @param keys the parameters that the driver refuses
 * @returns undefined if none of them is known as a credential of the driver
 */
export function incompleteCredential(
  keys: readonly string[],
  storage: Storage,
  about: About,
): Remedy | undefined {
  const declared = declaredOf(storage, about)?.keys ?? [];
  if (!keys.some((key) => declared.includes(key))) return undefined;
  const whole = wholeOf(storage, about);
  const value = `a whole credential: ${whole.join(' and ')}`;
  return inPlace(placeOf(storage, about), storage, about, value);
}
