import type { Volume } from '@kedge/api/kinds';
import { type DeclaredCredentials, credentialsNamed } from '@kedge/driver-sdk/parameters';
import { keptBeside, mergeWithClass, wasMergedByKey } from '../../references/credential-merge.js';
import { liveClass } from '../../references/live-class.js';
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
  | { readonly type: 'class' };

function ownOf({ kind, object }: Storage, { world }: About): Own {
  if (kind === 'Volume') return { parameters: object.parameters ?? {}, volume: object };
  const { namespace = '', source, sourceUid = '', driverParameters = {} } = object;
  const named = findByKey(world.volumes, `${namespace}/${source.volume}`);
  // A later volume of its name is another one.
  if (named && (sourceUid === '' || named.metadata.uid === sourceUid))
    return { parameters: named.parameters ?? {}, volume: named };
  const names = object.ownParameters ?? [];
  const captured = Object.entries(driverParameters).filter(([key]) => names.includes(key));
  return { parameters: Object.fromEntries(captured), volume: undefined };
}

/** Without `apiTokenSecretRef` if its later form is present, which comes first. */
function withoutLegacy(parameters: Parameters): Parameters {
  const { apiTokenSecretRef: _, ...rest } = parameters;
  return (rest['apiToken'] ?? '') === '' ? parameters : rest;
}

/** Whether a parameter is a credential by its value: a secret reference, or a literal that clients don't see. */
function isCredential([key, value]: readonly [string, string]): boolean {
  return value === mask || parameterReference(key, value, '').type !== 'literal';
}

/** The credentials among parameters, by their names. Without known names they are recognized by their values. */
function credentialsAmong(parameters: Parameters): DeclaredCredentials {
  const byValue = Object.entries(parameters).filter(isCredential);
  return credentialsNamed(parameters) ?? { keys: byValue.map(([key]) => key) };
}

/** The parameters of driver calls, those of the volume before those of the class; the captured ones only without it. */
export function callParameters(storage: Storage, about: About): Parameters {
  const { parameters: own } = ownOf(storage, about);
  const { driverParameters = {}, ownParameters, storageClassName = '' } = storage.object;
  const named = findByKey(about.world.storageClasses, storageClassName);
  const ofClass = liveClass(storage.object, named);
  const others = ofClass ? (ofClass.parameters ?? {}) : driverParameters;
  const declared = credentialsAmong({ ...others, ...own });
  const captured = { driverParameters, ownParameters };
  // A client sees no literals, only their mask.
  const isSame = (one: string, other: string): boolean => one === other;
  const isByKey = wasMergedByKey(declared, captured, own, isSame);
  if (ofClass) return withoutLegacy(mergeWithClass(declared, others, own, isByKey));
  const kept = keptBeside(declared, captured, own, isSame);
  return withoutLegacy({ ...kept, ...own });
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

/** Where the credential of a driver call is: with the volume, if it has one itself, else with the class. */
export function credentialSource(storage: Storage, about: About): CredentialSource {
  const { parameters, volume } = ownOf(storage, about);
  const { namespace } = storage.object;
  if (Object.entries(parameters).some(isCredential)) {
    const references = referencesIn(withoutLegacy(parameters), namespace);
    if (references.length > 0) return { type: 'secrets', references };
    return volume ? { type: 'volume', volume } : { type: 'captured' };
  }
  const references = secretsOf(storage, about);
  return references.length > 0 ? { type: 'secrets', references } : { type: 'class' };
}
