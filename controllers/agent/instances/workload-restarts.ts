import { type Clock, done, requeueAfter, type Result } from 'kedge';
import type { Instance, InstancePhase } from '../../instance/kind.js';
import type { ControllerPolicy } from '../../policy/policy.js';
import { type InstanceNotes, type NotedCondition, noted } from './instance-notes.js';
import {
  asRecorded,
  decideRestart,
  isOver,
  restartPriority,
  restartsOf,
  spreadOf,
  wasCrash,
} from './restart.js';
import type { RestartTurns } from './restart-turns.js';
import type { Runtime, WorkloadState } from '../runtime/runtime.js';
import type { StartBackoff } from './start-backoff.js';
import type { WorkloadStarts } from './workload-starts.js';
import { notRestarted, startRefused } from '../../messages/starts.js';

/** Dependencies of {@link WorkloadRestarts}. */
export interface WorkloadRestartsOptions {
  readonly notes: InstanceNotes;
  readonly backoff: StartBackoff;
  readonly starts: WorkloadStarts;
  readonly turns: RestartTurns;
  readonly clock: Clock;
  readonly policy: ControllerPolicy;
}

/** Handles the end of a run. */
export class WorkloadRestarts {
  readonly #options: WorkloadRestartsOptions;
  readonly #startedAt: number;

  constructor(options: WorkloadRestartsOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
  }

  /** Restarts the workload now, later or never, and reports it in the status of the instance. */
  async afterExit(
    instance: Instance,
    runtime: Runtime,
    observed: Extract<WorkloadState, { state: 'exited' }>,
  ): Promise<Result> {
    const { clock, notes, policy, starts, turns } = this.#options;
    const state = asRecorded(instance, observed, this.#startedAt);
    // The status has this end, with a cause that the runtime no longer reports.
    if (state !== observed && isOver(instance)) return done();
    const backoff = this.#options.backoff.ended(instance, state);
    const { restartPolicy } = instance.template;
    const crashes = backoff?.crashes ?? 0;
    const spread = spreadOf(instance.metadata.uid, state.run);
    const decision = decideRestart(policy, restartPolicy, state, crashes, spread);
    const isDue = decision.type === 'restart' && decision.atMs <= clock.now();
    const { namespace, name } = instance;
    const mayStart =
      isDue && (!wasCrash(policy, state) || turns.take({ namespace, name }, crashes));
    if (mayStart) {
      if (!backoff || backoff === instance.backoff) return starts.start(instance, runtime);
      // A run is counted even if its end was not observed.
      await notes.note(instance, undefined, endedWith(state), {
        backoff,
        ...lastEnd(instance, state),
      });
      return starts.start({ ...instance, backoff }, runtime);
    }
    // The key is queued for its turn. Its status is kept, so that waiting keys cause no writes.
    if (isDue && backoff === instance.backoff) return done();
    const code = state.exitCode === undefined ? 'unknown' : String(state.exitCode);
    const waitMs = decision.type === 'restart' ? decision.atMs - clock.now() : 0;
    const atOwnTime = decision.type === 'restart' && !isDue;
    const otherwise = isDue
      ? 'waits for a free restart slot'
      : notRestarted.format({ restartPolicy: restartPolicy ?? 'Always' });
    const next = atOwnTime ? `restarts in ${Math.ceil(waitMs / 1_000)} s` : otherwise;
    const { refused } = state;
    const what =
      refused === undefined
        ? `ended with exit code ${code}`
        : `${startRefused.format()} ${refused}`;
    const why = state.reason === 'OOMKilled' ? ': it exceeded its memory limit (OOMKilled)' : '';
    const message = `${what}${why}; ${next}`;
    const phase: InstancePhase = state.exitCode === 0 ? 'Exited' : 'Failed';
    const reason = refused === undefined ? (state.reason ?? phase) : 'StartFailed';
    await notes.note(
      instance,
      phase,
      [noted('ContainersReady', false, reason, message), noted('Ready', false, reason, message)],
      {
        failureMessage: phase === 'Failed' ? message : '',
        pid: 0,
        // A run that ends immediately is never observed as running.
        restartCount: restartsOf(state, backoff),
        ...(backoff ? { backoff } : {}),
        ...lastEnd(instance, state),
      },
    );
    return atOwnTime ? requeueAfter(waitMs, restartPriority(policy, state, crashes)) : done();
  }
}

/**
 * The fields of the last end; none for an end that the agent or the engine caused, and for one without an exit code,
 * such as that of a power failure. The reason is written only if there is one, or was one.
 */
function lastEnd(
  { exitReason }: Instance,
  { exitCode, reason, requested }: Extract<WorkloadState, { state: 'exited' }>,
): Pick<Instance, 'exitCode' | 'exitReason'> {
  if (requested || reason === 'EngineRestarted' || exitCode === undefined) return {};
  return {
    exitCode,
    ...((reason || exitReason) && { exitReason: reason ?? '' }),
  };
}

/**
 * The conditions of a workload that restarts immediately after an unrequested end; none unless a restart of the engine
 * or the machine ended it.
 */
function endedWith({
  reason,
}: Extract<WorkloadState, { state: 'exited' }>): readonly NotedCondition[] {
  if (reason !== 'EngineRestarted') return [];
  const message =
    'the container engine or its machine was restarted, which ended the workload; it starts again';
  return [noted('ContainersReady', false, reason, message), noted('Ready', false, reason, message)];
}
