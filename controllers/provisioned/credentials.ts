import type { Driver, Parameters } from '@kedge/driver-sdk';
import { liveClass } from '../references/live-class.js';
import type { StorageClass } from '../storage-class/kind.js';
import type { Volume } from '../volume/kind.js';
import { isSealed, sealedBody } from '../secret/index.js';

/** The parameters that choose the credentials of a driver's calls. They may change at any time. */
export function credentialKeysOf(driver: Driver): ReadonlySet<string> {
  const { sensitiveParameters, credentialParameters = [] } = driver.capabilities();
  return new Set([...sensitiveParameters, ...credentialParameters]);
}

/** A parameter value for comparisons: copies of one sealed literal are different texts, but have the same body. */
export function bodyOf(value: string): string {
  return isSealed(value) ? sealedBody(value) : value;
}

/** Whether parameters are equal, apart from the texts of sealed literals. */
export function haveSameBodies(one: Parameters, other: Parameters): boolean {
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].every((key) => bodyOf(one[key] ?? '') === bodyOf(other[key] ?? ''));
}

/** Whether parameters have all of a credential; undefined if the driver does not declare what that is. */
function hasWhole(driver: Driver, parameters: Parameters): boolean | undefined {
  const { wholeCredentials } = driver.capabilities();
  return wholeCredentials?.some((keys) => keys.every((key) => (parameters[key] ?? '') !== ''));
}

/** Parameters without those of keys. */
function without(parameters: Parameters, keys: ReadonlySet<string>): Parameters {
  return Object.fromEntries(Object.entries(parameters).filter(([key]) => !keys.has(key)));
}

/**
 * The parameters of a class with those of its volume, which come first. A volume with a whole credential of its own uses
 * none of the class beside it, such as the session token of the class's key. A part of a credential is used with the
 * other parts of the class.
 */
export function mergedParameters(
  driver: Driver,
  ofClass: Parameters,
  own: Parameters = {},
): Parameters {
  const isWhole = hasWhole(driver, own) === true;
  return { ...(isWhole ? without(ofClass, credentialKeysOf(driver)) : ofClass), ...own };
}

type OwnNamed = Pick<Volume, 'parameters' | 'ownParameters' | 'driver'>;

/** Parameters that were captured for an object. */
export interface Captured {
  readonly driverParameters?: Parameters | undefined;
  /** Names of those that its volume had itself; undefined for an object that an earlier release captured. */
  readonly ownParameters?: readonly string[] | undefined;
}

/**
 * The names of the parameters that a volume has itself, as recorded when its parameters are captured. Without its class
 * those remain that were recorded before: they are still among the captured ones.
 */
export function ownNamesOf(
  { parameters = {}, ownParameters = [], driver }: OwnNamed,
  named: Pick<StorageClass, 'driver'> | undefined,
): readonly string[] {
  const earlier = liveClass({ driver }, named) ? [] : ownParameters;
  return [...new Set([...Object.keys(parameters), ...earlier])];
}

/**
 * The captured parameters that are used together with those that a volume has itself now. Credentials belong together,
 * so no captured one is used if the volume has a whole one, or another one than the captured one. What the volume had
 * itself and has lost, such as a session token, is omitted if a credential remains without it.
 */
export function capturedBeside(
  driver: Driver,
  { driverParameters: captured = {}, ownParameters = [] }: Captured,
  own: Parameters,
): Parameters {
  const keys = credentialKeysOf(driver);
  const ownKeys = Object.keys(own).filter((key) => keys.has(key));
  const isOther = ownKeys.some((key) => bodyOf(own[key] ?? '') !== bodyOf(captured[key] ?? ''));
  if (isOther || hasWhole(driver, own) === true) return without(captured, keys);
  const isLost = (key: string): boolean => keys.has(key) && !Object.hasOwn(own, key);
  const kept = without(captured, new Set(ownParameters.filter(isLost)));
  const remains = hasWhole(driver, { ...kept, ...own }) ?? ownKeys.length > 0;
  // Without a credential nothing could delete the resource.
  return remains ? kept : captured;
}
