import { credentialsIn, type Driver, type Parameters } from '@kedge/driver-sdk';
import {
  type Captured,
  keptBeside,
  mergeWithClass,
  wasMergedByKey,
} from '../references/credential-merge.js';
import { liveClass } from '../references/live-class.js';
import type { StorageClass } from '../storage-class/kind.js';
import type { Volume } from '../volume/kind.js';
import { isSealed, sealedBody } from '../secret/index.js';

/** The parameters that choose the credentials of a driver's calls. They may change at any time. */
export function credentialKeysOf(driver: Driver): ReadonlySet<string> {
  return new Set(credentialsIn(driver.capabilities()).keys);
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

function isSameBody(one: string, other: string): boolean {
  return bodyOf(one) === bodyOf(other);
}

/**
 * The parameters of a class with those of its volume, see {@link mergeWithClass}.
 * @param captured the volume or snapshot of the call, if it may have captured parameters
 */
export function mergedParameters(
  driver: Driver,
  ofClass: Parameters,
  own: Parameters = {},
  captured: Captured = {},
): Parameters {
  const declared = credentialsIn(driver.capabilities());
  return mergeWithClass(
    declared,
    ofClass,
    own,
    wasMergedByKey(declared, captured, own, isSameBody),
  );
}

type OwnNamed = Pick<Volume, 'parameters' | 'ownParameters' | 'driver'>;

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

/** The captured parameters that are used together with those that a volume has itself now, see {@link keptBeside}. */
export function capturedBeside(driver: Driver, captured: Captured, own: Parameters): Parameters {
  return keptBeside(credentialsIn(driver.capabilities()), captured, own, isSameBody);
}
