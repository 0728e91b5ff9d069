import { createHash } from 'node:crypto';
import { findCondition } from 'kedge';
import type { Instance, InstanceBackoff, InstanceTemplate } from '../../instance/kind.js';
import { backoffOf, type ControllerPolicy } from '../../policy/policy.js';
import { hasCodeOfStop } from '../container/outages/engine-outages.js';
import type { WorkloadState } from '../runtime/runtime.js';

/** The decision after an exit. `atMs` is milliseconds since the epoch; a past time means now. */
export type RestartDecision =
  | { readonly type: 'restart'; readonly atMs: number }
  | { readonly type: 'stay' };

/**
 * Decides by restart policy when an exited workload restarts. It restarts at once, regardless of the policy, if the
 * agent or a restart of the engine ended it. Pure.
 * @param crashes the number of consecutive short runs, including this one
 * @param spread jitter from 0 to 1, the same at each call for one run; 0.5 changes nothing
 */
export function decideRestart(
  policy: ControllerPolicy,
  restartPolicy: InstanceTemplate['restartPolicy'],
  exited: Extract<WorkloadState, { state: 'exited' }>,
  crashes: number,
  spread = 0.5,
): RestartDecision {
  // The agent (at a shutdown) or the engine stopped it: the workload is still wanted.
  if (exited.requested || exited.reason === 'EngineRestarted') return { type: 'restart', atMs: 0 };
  if (restartPolicy === 'Never') return { type: 'stay' };
  if (restartPolicy === 'OnFailure' && exited.exitCode === 0) return { type: 'stay' };
  const { baseMs, maxMs } = backoffOf(policy, 'restart');
  const jitter = policy.jitterPercent / 100;
  // Below the cap by the jitter, so that the delay with jitter does not exceed it.
  const wholeMs = Math.min(
    maxMs / (1 + jitter),
    baseMs * 2 ** Math.min(Math.max(0, crashes - 1), 16),
  );
  const delayMs = Math.round(wholeMs * (1 + (2 * spread - 1) * jitter));
  return { type: 'restart', atMs: exited.exitedAt + delayMs };
}

/**
 * Whether the status of an instance says that its workload ended and is not restarted. The runtime may have lost the
 * run by then, for example by `docker container prune`. A failed start has no exit code.
 */
export function isOver({ status, exitCode, template }: Instance): boolean {
  const { restartPolicy } = template;
  if (status === 'Exited') return restartPolicy === 'Never' || restartPolicy === 'OnFailure';
  return status === 'Failed' && restartPolicy === 'Never' && exitCode !== undefined;
}

/**
 * Removes the reason EngineRestarted from the end of a run if the status of the instance already records that end
 * without it. The reason remains if the exit code is that of a stop and this agent observed the end: an engine that
 * stops may report an end before its outage is observed.
 * @param agentStartedAt milliseconds since the epoch
 */
export function asRecorded(
  { status, backoff, conditions }: Pick<Instance, 'status' | 'backoff' | 'conditions'>,
  exited: Extract<WorkloadState, { state: 'exited' }>,
  agentStartedAt: number,
): Extract<WorkloadState, { state: 'exited' }> {
  const { reason, rebooted, ...own } = exited;
  if (reason !== 'EngineRestarted' || backoff?.run !== exited.run) return exited;
  const isRecorded =
    (status === 'Exited' || status === 'Failed') &&
    // If Ready has the reason, the status does not record this end without it: it may be that of the previous run.
    findCondition(conditions, 'Ready')?.reason !== reason;
  // An agent that started after a reboot did not observe the end, also if its clock was set back.
  const isObserved = !rebooted && exited.exitedAt >= agentStartedAt;
  if (!isRecorded || (hasCodeOfStop(exited) && isObserved)) return exited;
  return own;
}

/**
 * Jitter for the restarts of workloads that ended together, from 0 to 1. It is computed from the run, so that repeated
 * observations and a restarted agent get the same value.
 */
export function spreadOf(uid: string, run: number): number {
  const digest = createHash('sha256').update(`${uid} ${run}`).digest();
  return digest.readUInt32BE(0) / 0xffff_ffff;
}

/**
 * Number of restarts of a workload, from the number of its present run. As with the kubelet, a run whose image could
 * not be pulled or whose container could not be created is not counted, and a run whose container could not be started
 * is. Runs that the engine ended are not counted.
 */
export function restartsOf(
  { run }: { readonly run: number },
  backoff: InstanceBackoff | undefined,
): number {
  return Math.max(0, run - 1 - (backoff?.engineEnds ?? 0) - (backoff?.failedPulls ?? 0));
}

/** Whether a run was long enough to reset the crash count. */
export function wasHealthy(
  policy: ControllerPolicy,
  exited: Extract<WorkloadState, { state: 'exited' }>,
): boolean {
  return exited.exitedAt - exited.startedAt >= policy.restartHealthyMs;
}

/** Whether a run ended soon after its start, neither requested nor by a restart of the engine. */
export function wasCrash(
  policy: ControllerPolicy,
  exited: Extract<WorkloadState, { state: 'exited' }>,
): boolean {
  return !exited.requested && exited.reason !== 'EngineRestarted' && !wasHealthy(policy, exited);
}

/**
 * Priority in the agent's work queue of a crash-looping workload whose restart was admitted: after all other keys,
 * before crash-looping workloads whose restart is not admitted yet (see RestartTurns).
 */
export const crashPriority = -10;

/** Further crashes do not lower the priority: the backoff has reached its maximum. */
const rankedCrashesMax = 16;

/** Priority in the agent's queue after a run ended, by the number of consecutive short runs. */
export function restartPriority(
  policy: ControllerPolicy,
  exited: Extract<WorkloadState, { state: 'exited' }>,
  crashes: number,
): number {
  return wasHealthy(policy, exited) ? 0 : crashPriority - Math.min(crashes, rankedCrashesMax);
}
