import type { Volume } from '@kedge/api/kinds';
import type { DeclaredCredentials } from '@kedge/driver-sdk/parameters';
import {
  keptBeside,
  mayBeSame,
  mergeWithClass,
  usedCredential,
  wasMergedByKey,
} from '../../references/credential-merge.js';
import { liveClass } from '../../references/live-class.js';
import { capturedOwn } from '../../references/needed-parameters.js';
import { parameterReference, type SecretReference } from '../../references/secret-reference.js';
import { mask } from '../../messages/mask.js';
import type { Storage } from '../storage-subject.js';
import { type About, findByKey } from '../world.js';

type Parameters = Readonly<Record<string, string>>;

/** The parameters that a volume has itself, as a driver call uses them. */
interface Own {
  readonly parameters: Parameters;
  /** The volume that has them; undefined for a snapshot of a deleted volume, which has captured them. */
  readonly volume: Volume | undefined;
}

/** The place of the credential of a driver call. */
export type CredentialSource =
  | { readonly type: 'secrets'; readonly references: readonly SecretReference[] }
  | { readonly type: 'volume'; readonly volume: Volume }
  | { readonly type: 'captured' }
  | { readonly type: 'class' }
  /** The class was deleted. */
  | { readonly type: 'gone'; readonly volume: Volume | undefined; readonly isNameFree: boolean };

/** The parameters of a driver call, as the stored objects show them. */
interface Call {
  readonly own: Own;
  /** Its parameters, those of the volume before those of the class; the captured ones only without it. */
  readonly parameters: Parameters;
  readonly declared: DeclaredCredentials;
}

function ownOf({ kind, object }: Storage, { world }: About): Own {
  if (kind === 'Volume') return { parameters: object.parameters ?? {}, volume: object };
  const { namespace = '', source, sourceUid = '' } = object;
  const named = findByKey(world.volumes, `${namespace}/${source.volume}`);
  // A later volume of its name is another one.
  if (named && (sourceUid === '' || named.metadata.uid === sourceUid))
    return { parameters: named.parameters ?? {}, volume: named };
  return { parameters: capturedOwn(object), volume: undefined };
}

/** Whether a parameter looks like a credential: a secret reference, or a literal that clients don't see. */
function isCredential([key, value]: readonly [string, string]): boolean {
  return value === mask || parameterReference(key, value, '').type !== 'literal';
}

/** The credentials that the driver of an object declares; undefined if they are not known, or it has none. */
export function declaredOf({ object }: Storage, { world }: About): DeclaredCredentials | undefined {
  const { driver = '', storageClassName = '' } = object;
  const named = findByKey(world.storageClasses, storageClassName);
  return world.credentials.get(driver || (named?.driver ?? ''));
}

/** The credentials among parameters of a driver whose credentials are not known, by their values. */
function credentialsAmong(parameters: Parameters): DeclaredCredentials {
  const byValue = Object.entries(parameters).filter(isCredential);
  return { keys: byValue.map(([key]) => key) };
}

function callOf(storage: Storage, about: About): Call {
  const own = ownOf(storage, about);
  const { driverParameters = {}, ownParameters, storageClassName = '' } = storage.object;
  const named = findByKey(about.world.storageClasses, storageClassName);
  const ofClass = liveClass(storage.object, named);
  const others = ofClass ? (ofClass.parameters ?? {}) : driverParameters;
  const declared = declaredOf(storage, about) ?? credentialsAmong({ ...others, ...own.parameters });
  const captured = { driverParameters, ownParameters };
  const isByKey = wasMergedByKey(declared, captured, own.parameters, mayBeSame);
  const merged = ofClass
    ? mergeWithClass(declared, others, own.parameters, isByKey)
    : { ...keptBeside(declared, captured, own.parameters, mayBeSame), ...own.parameters };
  return { own, declared, parameters: merged };
}

/** The parameters of driver calls, those of the volume before those of the class; the captured ones only without it. */
export function callParameters(storage: Storage, about: About): Parameters {
  return callOf(storage, about).parameters;
}

function referencesIn(parameters: Parameters, namespace: string): readonly SecretReference[] {
  return Object.entries(parameters).flatMap(([key, value]) => {
    const parsed = parameterReference(key, value, namespace);
    return parsed.type === 'reference' ? [parsed.reference] : [];
  });
}

/** The secrets that the parameters of driver calls refer to: `secret:name/key` or `secret:name.namespace.svc/key`. */
export function secretsOf(storage: Storage, about: About): readonly SecretReference[] {
  return referencesIn(callParameters(storage, about), storage.object.namespace);
}

/** The parameters that a driver uses as its credential. */
function usedIn({ parameters, declared }: Call): Parameters {
  const used = Object.entries(usedCredential(declared, parameters)).filter(
    ([key, value]) => declared.keys.includes(key) && value !== '',
  );
  return Object.fromEntries(used);
}

/** Where the credential of a driver call is: with the volume, if it has one itself, else with the class. */
export function credentialSource(storage: Storage, about: About): CredentialSource {
  const call = callOf(storage, about);
  const used = usedIn(call);
  const { namespace } = storage.object;
  const own = Object.entries(used).filter(([key]) => Object.hasOwn(call.own.parameters, key));
  const ofPlace = own.length > 0 ? Object.fromEntries(own) : used;
  const references = referencesIn(ofPlace, namespace);
  return references.length > 0 ? { type: 'secrets', references } : placeOf(storage, about);
}

/** Where the credential of a driver call is given, as a literal or as a reference. */
export function placeOf(
  storage: Storage,
  about: About,
): Exclude<CredentialSource, { readonly type: 'secrets' }> {
  const call = callOf(storage, about);
  const { volume, parameters } = call.own;
  if (Object.keys(usedIn(call)).some((key) => Object.hasOwn(parameters, key)))
    return volume ? { type: 'volume', volume } : { type: 'captured' };
  return goneClass(storage, about) ?? { type: 'class' };
}

/**
 * The source for an object whose class was deleted. Undefined if it exists, and if it is unknown whether it does, because
 * the caller may not read classes.
 */
function goneClass(
  storage: Storage,
  about: About,
): Extract<CredentialSource, { readonly type: 'gone' }> | undefined {
  const { storageClasses, absentClasses = [] } = about.world;
  const { storageClassName = '', driver = '' } = storage.object;
  const { volume } = ownOf(storage, about);
  if (absentClasses.includes(storageClassName)) return { type: 'gone', volume, isNameFree: true };
  const named = findByKey(storageClasses, storageClassName);
  if (named === undefined || liveClass({ driver }, named)) return undefined;
  return { type: 'gone', volume, isNameFree: false };
}

/** The set of parameters that is a whole credential of an object, the one that its driver prefers; empty if unknown. */
export function wholeOf(storage: Storage, about: About): readonly string[] {
  const [first = []] = declaredOf(storage, about)?.whole ?? [];
  return first;
}

/** Whether the class of an object was deleted, also if another driver has its name now. */
export function isClassGone(storage: Storage, about: About): boolean {
  return goneClass(storage, about) !== undefined;
}
