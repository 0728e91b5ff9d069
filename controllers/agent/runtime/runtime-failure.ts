import { failedPrecondition, messageOf, type ObjectKey } from 'kedge';
import type { Runtime } from './runtime.js';

/**
 * The error of a call on a runtime. FailedPrecondition with the remedy if the runtime is unavailable.
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
