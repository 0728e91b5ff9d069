import { failedPrecondition, StatusError } from '../base/index.js';
import { requireTransition } from '../object/kinds/require-transition.js';

/**
 * The state of a manager.
 *
 * | State      | Means                                        | `start`          | `stop`               | `add...`, new `informer` |
 * | ---------- | -------------------------------------------- | ---------------- | -------------------- | ------------------------ |
 * | `new`      | nothing runs                                 | starts           | ends it              | kept for the start       |
 * | `starting` | parts are started, one after the other       | the same promise | ends the start first | started with the others  |
 * | `running`  | everything runs, or waits for the election   | the same promise | stops                | started at once          |
 * | `stopping` | parts are stopped, one after the other       | refused          | the same promise     | refused                  |
 * | `stopped`  | nothing runs, except abandoned parts         | refused          | the same promise     | refused                  |
 *
 * All other methods may be called in any state. Refused means FailedPrecondition, reason ManagerStopped.
 */
export type ManagerState = 'new' | 'starting' | 'running' | 'stopping' | 'stopped';

const transitions: Readonly<Record<ManagerState, readonly ManagerState[]>> = {
  new: ['starting', 'stopping'],
  starting: ['running', 'stopping'],
  running: ['stopping'],
  stopping: ['stopped'],
  stopped: [],
};

/** Checks that a manager is not stopping or stopped. @throws StatusError FailedPrecondition, reason ManagerStopped */
export function requireNotStopped(state: ManagerState, what: string): void {
  if (state !== 'stopping' && state !== 'stopped') return;
  throw failedPrecondition(
    'ManagerStopped',
    `${what}: this manager is ${state} and can run only once; create a new one`,
  );
}

/** The error of a start that was ended by a stop. */
export function stoppedWhileStarting(waitsFor: string): StatusError {
  return new StatusError({
    code: 'Cancelled',
    reason: 'ManagerStopped',
    message: `the manager was stopped during its start, while it waited for ${waitsFor}`,
  });
}

/** Checks a transition of the manager. @throws TypeError for an illegal one, which is a bug of the manager */
export function requireManagerTransition(from: ManagerState, to: ManagerState): void {
  requireTransition('manager', transitions, from, to);
}
