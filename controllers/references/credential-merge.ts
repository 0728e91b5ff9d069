import type { DeclaredCredentials } from '@kedge/driver-sdk/parameters';
import { parameterReference } from './secret-reference.js';

type Parameters = Readonly<Record<string, string>>;

/** Whether parameters have all of a credential; undefined if the driver does not declare what that is. */
function hasWhole({ whole }: DeclaredCredentials, parameters: Parameters): boolean | undefined {
  return whole?.some((keys) => isPresent(keys, parameters));
}

function isPresent(keys: readonly string[], parameters: Parameters): boolean {
  return keys.every((key) => (parameters[key] ?? '') !== '');
}

/** Parameters without those of keys. */
function without(parameters: Parameters, keys: ReadonlySet<string>): Parameters {
  return Object.fromEntries(Object.entries(parameters).filter(([key]) => !keys.has(key)));
}

/**
 * The parameters of a class with those of its volume, which come first. A volume with a whole credential of its own uses
 * none of the class beside it, such as the session token of the class's key. A part of a credential is used with the
 * other parts of the class.
 * @param declared the credentials of their driver; undefined: it has none, or they are not known
 * @param isMergedByKey see {@link wasMergedByKey}: the class is used beside a whole credential, too
 */
export function mergeWithClass(
  declared: DeclaredCredentials | undefined,
  ofClass: Parameters,
  own: Parameters,
  isMergedByKey = false,
): Parameters {
  const isWhole = !isMergedByKey && declared !== undefined && hasWhole(declared, own) === true;
  return { ...(isWhole ? without(ofClass, new Set(declared.keys)) : ofClass), ...own };
}

/**
 * Parameters without the whole credentials beside the first one that is present, which is the one that the driver uses.
 */
export function usedCredential(
  { whole = [] }: DeclaredCredentials,
  parameters: Parameters,
): Parameters {
  const [first = [], ...others] = whole.filter((keys) => isPresent(keys, parameters));
  return without(parameters, new Set(others.flat().filter((key) => !first.includes(key))));
}

/** Parameters that were captured for an object. */
export interface Captured {
  readonly driverParameters?: Parameters | undefined;
  /** Names of those that its volume had itself; undefined for an object that an earlier release captured. */
  readonly ownParameters?: readonly string[] | undefined;
}

/** Whether two values of a parameter are the same credential. */
export type SameCredential = (one: string, other: string, key: string) => boolean;

/**
 * Whether two values of a parameter may be the same credential, for components that see no literals: only a driver call
 * knows whether these are the same.
 */
export function mayBeSame(one: string, other: string, key: string): boolean {
  const isLiteral = (value: string): boolean =>
    value !== '' && parameterReference(key, value, '').type === 'literal';
  return one === other || (isLiteral(one) && isLiteral(other));
}

/**
 * Whether an earlier release captured another whole credential of the class beside that of the volume, which is
 * unchanged. Its driver chose between them, so the resource may be in the account of the class.
 */
export function wasMergedByKey(
  declared: DeclaredCredentials,
  { driverParameters: captured = {}, ownParameters = [] }: Captured,
  own: Parameters,
  isSame: SameCredential,
): boolean {
  if (hasWhole(declared, own) !== true) return false;
  const ofClass = without(captured, new Set([...Object.keys(own), ...ownParameters]));
  const ownKeys = declared.keys.filter((key) => Object.hasOwn(own, key));
  return (
    hasWhole(declared, ofClass) === true &&
    ownKeys.every((key) => isSame(own[key] ?? '', captured[key] ?? '', key))
  );
}

/**
 * The captured parameters that are used together with those that a volume has itself now. Credentials belong together,
 * so no captured one is used if the volume has a whole one, or another one than the captured one that those of the class
 * do not complete. What the volume had itself and has lost, such as a session token, is omitted if a credential remains
 * without it. An object that {@link wasMergedByKey} keeps its captured ones.
 */
export function keptBeside(
  declared: DeclaredCredentials,
  object: Captured,
  own: Parameters,
  isSame: SameCredential,
): Parameters {
  if (wasMergedByKey(declared, object, own, isSame)) return object.driverParameters ?? {};
  const { driverParameters: captured = {}, ownParameters = [] } = object;
  const keys = new Set(declared.keys);
  const ownKeys = Object.keys(own).filter((key) => keys.has(key));
  const isOther = ownKeys.some((key) => !isSame(own[key] ?? '', captured[key] ?? '', key));
  if (hasWhole(declared, own) === true) return without(captured, keys);
  if (isOther) {
    // A part of the volume's own is completed by what the class gave, if it is known what that is.
    const ofClass = without(captured, new Set(ownParameters));
    const isCompleted = ownParameters.length > 0 && hasWhole(declared, { ...ofClass, ...own });
    return isCompleted === true ? ofClass : without(captured, keys);
  }
  const isLost = (key: string): boolean => keys.has(key) && !Object.hasOwn(own, key);
  const kept = without(captured, new Set(ownParameters.filter(isLost)));
  const remains = hasWhole(declared, { ...kept, ...own }) ?? ownKeys.length > 0;
  // Without a credential nothing could delete the resource.
  return remains ? kept : captured;
}
