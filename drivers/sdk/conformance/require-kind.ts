import { DriverError, type DriverErrorKind } from '../errors/errors.js';
import { assert } from './failure.js';

/** Returns the kind of a call's error; undefined if it succeeds. @throws any other error than a DriverError */
export async function kindOf(call: Promise<unknown>): Promise<DriverErrorKind | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    if (error instanceof DriverError) return error.kind;
    throw error;
  }
}

/** Checks that a call fails with one of these kinds. @throws ConformanceError if it succeeds or has another kind */
export async function requireKind(
  what: string,
  call: Promise<unknown>,
  ...kinds: readonly DriverErrorKind[]
): Promise<void> {
  const kind = await kindOf(call);
  assert(
    kind !== undefined && kinds.includes(kind),
    `${what} ends with ${kind ?? 'success'}, not with ${kinds.join(' or ')}`,
  );
}

/** Checks that a call fails with a DriverError. @throws ConformanceError if it succeeds; any other error of the call */
export async function requireRefusal(what: string, call: Promise<unknown>): Promise<void> {
  assert((await kindOf(call)) !== undefined, `${what} succeeds`);
}
