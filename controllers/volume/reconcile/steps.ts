import type { Result } from 'kedge';
import type { Volume } from '../kind.js';

/** Maximum number of steps of a run: the intent, the driver call, and the schedule of the first probe. */
export const stepsMax = 3;
/** A run that took longer goes on in a new one, which has its own timeout. */
export const stepsWithinMs = 1_000;

/** Whether a step of the provisioning ended, after which the next one may follow at once. */
export function isProvisioningStep(
  { status = 'Pending', metadata }: Volume,
  result: Result,
): boolean {
  if (metadata.deletionRequestedAt !== undefined) return false;
  if (status !== 'Pending' && status !== 'Provisioning') return false;
  return result.type === 'requeueAfter' && result.delayMs === 0;
}
