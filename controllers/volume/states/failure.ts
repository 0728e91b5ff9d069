import { type DriverError, type DriverErrorKind, errorClasses } from '@kedge/driver-sdk';
import type { ControllerPolicy } from '../../policy/policy.js';
import type { VolumeEvent } from './phases.js';

/** What a failed driver call means for a volume. */
export interface Failure {
  readonly event: Extract<
    VolumeEvent<'Provisioning'>,
    'outcomeUnknown' | 'failedForGood' | 'attemptsSpent' | 'failedForNow'
  >;
  readonly reason: DriverError['kind'];
  readonly message: string;
}

/** The provider answered that it did nothing. Others of their class may tell of a call that was cut off. */
const refusals: ReadonlySet<DriverErrorKind> = new Set(['QuotaExceeded', 'Throttled', 'InUse']);

/** Whether an outcome of a call says for certain that nothing was done. */
export function isRefusal(outcome: string): boolean {
  const kind = Object.keys(errorClasses).find((known) => known === outcome);
  if (kind === undefined) return false;
  const error = kind as DriverErrorKind;
  return errorClasses[error] === 'final' || refusals.has(error);
}

/**
 * V4, V5, V7 and V8: decides by the class of the error. Pure.
 * @param attempts tries so far, this one included
 * @param wanted false for an object whose deletion was asked for: after a refusal it is not tried again
 */
export function judgeFailure(
  error: DriverError,
  attempts: number,
  { driverAttemptsMax }: ControllerPolicy,
  wanted: boolean,
): Failure {
  const { kind } = error;
  const spent = attempts >= driverAttemptsMax || (!wanted && refusals.has(kind));
  // Specification 5.2.4: the reason InvalidParameters is to be read in the message, too.
  const message = kind === 'InvalidParameters' ? `${kind}: ${error.message}` : error.message;
  switch (errorClasses[kind]) {
    case 'unknown':
      return { event: 'outcomeUnknown', reason: kind, message };
    case 'final':
      return { event: 'failedForGood', reason: kind, message };
    case 'retry':
      return {
        event: spent ? 'attemptsSpent' : 'failedForNow',
        reason: kind,
        message,
      };
  }
}
