import type { AttachResult, CallContext } from '../contract/driver.js';
import { operationIdOf, type Pending } from '../contract/operations.js';
import { DriverError } from '../errors/errors.js';

/**
 * Whether a call that attaches or detaches got no answer: the provider may still execute it. An operation with an id is
 * not meant: the one that follows awaits it.
 */
export async function isUnanswered(
  { operations }: Pick<CallContext, 'operations'>,
  kind: 'attach' | 'detach',
): Promise<boolean> {
  const kept = await operations.get(kind);
  return kept !== undefined && operationIdOf(kept) === undefined;
}

/**
 * The answer of an attach that is repeated to end it; undefined if it is refused, so that the volume counts as not attached.
 * A server error (Unavailable) counts as a refusal, although the provider may execute the call: one that always answers so
 * would block the detach.
 * @throws DriverError Timeout or Throttled if the outcome is not known
 */
export async function repeatedAttach(
  attach: () => Promise<AttachResult | Pending>,
): Promise<AttachResult | Pending | undefined> {
  try {
    return await attach();
  } catch (thrown) {
    const error = DriverError.from(thrown);
    if (error.kind === 'Timeout' || error.kind === 'Throttled') throw error;
    return undefined;
  }
}
