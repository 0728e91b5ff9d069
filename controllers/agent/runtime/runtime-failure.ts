import { failedPrecondition, messageOf, type ObjectKey } from 'kedge';
import type { Runtime } from './runtime.js';

/**
 * Returns the error to report for a failed call on a runtime: FailedPrecondition with the reason, and its remedy if one
 * is known, if the runtime is unavailable; otherwise `error`.
 * @param what the failure, such as `commands can't be run in "default/web-0"`
 */
export async function runtimeFailure(
  runtime: Runtime,
  what: string,
  resource: ObjectKey & { readonly kind: string },
  error: unknown,
): Promise<unknown> {
  const availability = await runtime.availability();
  if (availability.available) return error;
  const message = `${what}: ${availability.message || messageOf(error)}`;
  return failedPrecondition('RuntimeUnavailable', message, resource);
}
