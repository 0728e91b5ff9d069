import type { Driver, Parameters } from '@kedge/driver-sdk';
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

/**
 * The captured parameters that are used together with those that a volume has itself now. Credentials belong together:
 * if the volume has another one than the captured one, no captured credential is used, such as the session token of an
 * earlier key.
 */
export function capturedBeside(driver: Driver, captured: Parameters, own: Parameters): Parameters {
  const keys = credentialKeysOf(driver);
  const isOther = Object.entries(own).some(
    ([key, value]) => keys.has(key) && bodyOf(value) !== bodyOf(captured[key] ?? ''),
  );
  if (!isOther) return captured;
  return Object.fromEntries(Object.entries(captured).filter(([key]) => !keys.has(key)));
}
