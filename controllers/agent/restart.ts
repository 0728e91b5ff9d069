import type { InstanceTemplate } from '../kinds/index.js';
import type { WorkloadState } from './runtime.js';

/** Wait before the first restart, and the longest one. */
const baseMs = 1_000;
const maxMs = 300_000;
/** A run this long was a success: the next crash starts over. */
const healthyMs = 600_000;

/** What follows from an exit. */
export type RestartDecision =
  | { readonly type: 'restart'; readonly atMs: number }
  | { readonly type: 'stay' };

/** Decides by policy when an exited workload starts again. Pure. `crashes` counts short runs in a row. */
export function decideRestart(
  policy: InstanceTemplate['restartPolicy'],
  exited: Extract<WorkloadState, { state: 'exited' }>,
  crashes: number,
): RestartDecision {
  // Stopped by the agent itself (shutdown): it is still wanted.
  if (exited.requested) return { type: 'restart', atMs: 0 };
  if (policy === 'Never') return { type: 'stay' };
  if (policy === 'OnFailure' && exited.exitCode === 0) return { type: 'stay' };
  const delayMs = Math.min(maxMs, baseMs * 2 ** Math.min(crashes, 16));
  return { type: 'restart', atMs: exited.exitedAt + delayMs };
}

/** Whether a run was long enough to forget earlier crashes. */
export function wasHealthy(exited: Extract<WorkloadState, { state: 'exited' }>): boolean {
  return exited.exitedAt - exited.startedAt >= healthyMs;
}
