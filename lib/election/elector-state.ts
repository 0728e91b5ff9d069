import { failedPrecondition } from '../base/index.js';
import { requireTransition } from '../object/kinds/require-transition.js';
import type { Term } from './lease-client.js';

/**
 * Why leading ended: `withdrawn` by the signal of `run`, `lost` to another candidate, `expired` without a renewal
 * in time, `failed` because the leader's work threw.
 */
export type EndReason = 'withdrawn' | 'lost' | 'expired' | 'failed';

/** The phase of an elector. */
export type Phase =
  | { readonly state: 'idle' }
  | { readonly state: 'standby' }
  | { readonly state: 'leading'; readonly term: Term }
  | { readonly state: 'resigning'; readonly term: Term; readonly reason: EndReason }
  | { readonly state: 'stopped' };

/**
 * The state of an elector. `run` is refused in `standby`, `leading` and `resigning`; everything else may be called in
 * any state.
 *
 * | State       | Means                                            | Next                                     |
 * | ----------- | ------------------------------------------------ | ---------------------------------------- |
 * | `idle`      | `run` was not called yet                         | `standby`: by `run`                      |
 * | `standby`   | tries to take the lease                          | `leading`: took it; `stopped`: aborted   |
 * | `leading`   | holds the lease and renews it                    | `resigning`: aborted, lost, not renewed in time, or the work failed |
 * | `resigning` | the work is being stopped; then the lease is released | `standby`                                |
 * | `stopped`   | `run` has resolved                               | `standby`: by `run`                      |
 */
export type ElectorState = Phase['state'];

const transitions: Readonly<Record<ElectorState, readonly ElectorState[]>> = {
  idle: ['standby'],
  standby: ['leading', 'stopped'],
  leading: ['resigning'],
  resigning: ['standby'],
  stopped: ['standby'],
};

/** Checks that `run` is not in progress. @throws StatusError FailedPrecondition, reason ElectorRunning */
export function requireAtRest(state: ElectorState): void {
  if (state === 'idle' || state === 'stopped') return;
  throw failedPrecondition(
    'ElectorRunning',
    `this elector is ${state} and already a candidate; wait for its run to end, or create another`,
  );
}

/** Checks a transition of the elector. @throws TypeError for an illegal one, which is a bug of the elector */
export function requireElectorTransition(from: ElectorState, to: ElectorState): void {
  requireTransition('elector', transitions, from, to);
}
