import {
  credentialForms,
  type DriverError,
  type DriverErrorKind,
  errorClasses,
} from '@kedge/driver-sdk';
import {
  credentialAbsent,
  operationUnobserved,
  parameterRefused,
} from '@kedge/driver-sdk/messages';
import { inputMessages } from '../messages/inputs.js';
import type { ControllerPolicy } from '../policy/policy.js';
import type { VolumeEvent } from '../volume/states/phases.js';

/** The consequence of a failed driver call for a volume. */
export interface Failure {
  readonly event: Extract<
    VolumeEvent<'Provisioning'>,
    'outcomeUnknown' | 'failedForGood' | 'attemptsSpent' | 'failedForNow'
  >;
  readonly reason: DriverError['kind'];
  readonly message: string;
}

/**
 * Errors with which the provider confirms that it did nothing. Other errors of their class may follow an
 * interrupted call.
 */
const refusals: ReadonlySet<DriverErrorKind> = new Set(['QuotaExceeded', 'Throttled', 'InUse']);

/** Whether an outcome of a call confirms that nothing was done. */
export function isRefusal(outcome: string): boolean {
  const kind = Object.keys(errorClasses).find((known) => known === outcome);
  if (kind === undefined) return false;
  const error = kind as DriverErrorKind;
  return errorClasses[error] === 'final' || refusals.has(error);
}

/** The outcome of a call with its message. */
export interface Answer {
  readonly outcome: string;
  readonly message: string;
}

const { missing, keyMissing, keyEmpty } = inputMessages.secret;
const withoutSecret = [missing, keyMissing, keyEmpty];

/** The parameters with credentials of the built-in drivers. A driver that refuses one sends nothing to its provider. */
const credentialKeys: ReadonlySet<string> = new Set(
  Object.values(credentialForms).flatMap(({ keys }) => keys),
);

/**
 * Whether a call had no valid credential: there was none to send it with, because the class has none, a secret lacks it
 * or the driver can't read it, or the one of the node had ended and was refused. The call did nothing, and says nothing
 * about earlier ones. It is repeated, but a node without a metadata service never has a credential.
 */
export function hasNoCredential({ outcome, message }: Answer): boolean {
  if (outcome !== 'InvalidParameters')
    return outcome === 'Unavailable' && credentialAbsent.isIn(message);
  const refused = parameterRefused.readAll(message);
  return (
    refused.some(({ key }) => credentialKeys.has(key)) ||
    withoutSecret.some((form) => form.isIn(message))
  );
}

/** Whether a call ended because of its credential, so that its answer says nothing about an earlier call. */
export function isAboutCredential(answer: Answer): boolean {
  return answer.outcome === 'CredentialsRejected' || hasNoCredential(answer);
}

/**
 * Whether a call was refused without a look at the resource, so that its answer says nothing about an
 * operation that an earlier call started: for its credential, for missing rights, or by a rate limit.
 */
export function isAboutCaller(answer: Answer): boolean {
  const { outcome } = answer;
  return outcome === 'PermissionDenied' || outcome === 'Throttled' || isAboutCredential(answer);
}

/**
 * Whether the provider has accepted an operation and now refuses a look at it, for the credential or for a missing right.
 * Drivers report that as a Timeout, because the outcome is unknown.
 */
function isUnobserved({ outcome, message }: Answer): boolean {
  return outcome === 'Timeout' && operationUnobserved.isIn(message);
}

/**
 * Whether the end of an accepted deletion may never be read after an answer, because the account is closed or a right is
 * gone: the answer is a refusal, or {@link isUnobserved}. A rate limit ends.
 */
export function isUnreadable(answer: Answer): boolean {
  return isUnobserved(answer) || (isAboutCaller(answer) && answer.outcome !== 'Throttled');
}

/** Whether the answer of a call confirms that this call did nothing. */
export function isRefused(answer: Answer): boolean {
  return isRefusal(answer.outcome) || hasNoCredential(answer);
}

/**
 * The consequence of a failed call, decided by the kind of the error (V4, V5, V7 and V8). Pure.
 * @param attempts attempts so far, including this one
 * @param wanted false for an object in deletion: after a refusal it is not retried
 */
export function classifyFailure(
  error: DriverError,
  attempts: number,
  { driverAttemptsMax }: ControllerPolicy,
  wanted: boolean,
): Failure {
  const { kind } = error;
  const spent = attempts >= driverAttemptsMax || (!wanted && refusals.has(kind));
  // Specification 5.2.4: the message must include the reason InvalidParameters.
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
