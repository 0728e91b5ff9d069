import { failedPrecondition, StatusError } from '../base/index.js';

/** The state of a manager; see the table at `Manager`. */
export type ManagerState = 'new' | 'starting' | 'running' | 'stopping' | 'stopped';

const moves: Readonly<Record<ManagerState, readonly ManagerState[]>> = {
  new: ['starting', 'stopping'],
  starting: ['running', 'stopping'],
  running: ['stopping'],
  stopping: ['stopped'],
  stopped: [],
};

/** @throws TypeError for an illegal transition, which is a bug of the manager */
export function demandMove(from: ManagerState, to: ManagerState): void {
  if (!moves[from].includes(to))
    throw new TypeError(`invalid transition of the manager from ${from} to ${to}`);
}

/** @throws StatusError FailedPrecondition, reason ManagerStopped, once a manager is stopping */
export function demandNotStopped(state: ManagerState, what: string): void {
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
