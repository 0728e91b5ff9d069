import type { InstanceTemplate } from '../../instance/kind.js';
import { backoffOf, type ControllerPolicy } from '../../policy/policy.js';
import type { WorkloadState } from '../runtime/runtime.js';

/** What follows from an exit. */
export type RestartDecision =
  | { readonly type: 'restart'; readonly atMs: number }
  | { readonly type: 'stay' };

/** Decides by restart policy when an exited workload starts again. Pure. `crashes` are the short runs in a row, this one included. */
export function decideRestart(
  policy: ControllerPolicy,
  restartPolicy: InstanceTemplate['restartPolicy'],
  exited: Extract<WorkloadState, { state: 'exited' }>,
  crashes: number,
): RestartDecision {
  // Stopped by the agent itself (shutdown): it is still wanted.
  if (exited.requested) return { type: 'restart', atMs: 0 };
  if (restartPolicy === 'Never') return { type: 'stay' };
  if (restartPolicy === 'OnFailure' && exited.exitCode === 0) return { type: 'stay' };
  const { baseMs, maxMs } = backoffOf(policy, 'restart');
  const delayMs = Math.min(maxMs, baseMs * 2 ** Math.min(Math.max(0, crashes - 1), 16));
  return { type: 'restart', atMs: exited.exitedAt + delayMs };
}

/** Whether a run was long enough to forget earlier crashes. */
export function wasHealthy(
  policy: ControllerPolicy,
  exited: Extract<WorkloadState, { state: 'exited' }>,
): boolean {
  return exited.exitedAt - exited.startedAt >= policy.restartHealthyMs;
}

/** Whether a run ended by itself soon after its start. */
export function wasCrash(
  policy: ControllerPolicy,
  exited: Extract<WorkloadState, { state: 'exited' }>,
): boolean {
  return !exited.requested && !wasHealthy(policy, exited);
}

/**
 * In the agent's queue: restarts of crash loops come behind all other work, and before those who only ask for a turn.
 */
export const crashPriority = -10;

/** More crashes than these lower the place in the queue no further: waits have their longest by then. */
const rankedCrashesMax = 16;

/** In the agent's queue: the place of what follows from the end of a run, after so many short ones in a row. */
export function restartPriority(
  policy: ControllerPolicy,
  exited: Extract<WorkloadState, { state: 'exited' }>,
  crashes: number,
): number {
  return wasHealthy(policy, exited) ? 0 : crashPriority - Math.min(crashes, rankedCrashesMax);
}
