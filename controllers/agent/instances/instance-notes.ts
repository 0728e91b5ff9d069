import {
  type Clock,
  type ConditionStatus,
  counted,
  findCondition,
  type ObjectStore,
  runTxn,
  timestamp,
  type StatusUpdate,
} from 'kedge';
import {
  type Instance,
  type InstanceBackoff,
  type InstanceMount,
  type InstancePhase,
  instances,
} from '../../instance/kind.js';
import type { DataMountsOutcome } from '../inputs/data-mounts.js';
import type { WorkloadState } from '../runtime/runtime.js';
import { type Reason, setCondition } from '../../reasons/index.js';
import { restartsOf } from './restart.js';
import { hostPortsOf } from './workload-spec.js';

/** A condition to set. */
export interface NotedCondition {
  readonly type: 'VolumesReady' | 'FilesReady' | 'ContainersReady' | 'LimitsEnforced' | 'Ready';
  readonly status: ConditionStatus;
  readonly reason: Reason;
  readonly message: string;
}

/** The reason of a condition, by the outcome of inputs that are not ready. */
export const inputsReason = {
  missing: 'InvalidParameters',
  failed: 'WriteFailed',
  removed: 'WriteFailed',
} as const;

/** Creates a condition with status True (`ok`) or False. */
export function noted(
  type: NotedCondition['type'],
  ok: boolean,
  reason: Reason,
  message: string,
): NotedCondition {
  return { type, status: ok ? 'True' : 'False', reason, message };
}

/**
 * Formats a duration in seconds. Above 10 s it is rounded up to tens, so that a long wait does not change the status
 * every second.
 */
function inSeconds(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  return `${seconds > 10 ? Math.ceil(seconds / 10) * 10 : seconds} s`;
}

/** The status of a running workload. */
export interface RunningNote {
  readonly state: Extract<WorkloadState, { state: 'running' }>;
  readonly mounts: readonly InstanceMount[];
  /** Undefined without mounted secrets and configmaps. */
  readonly files: DataMountsOutcome | undefined;
  /** Milliseconds until the workload is ready; 0 if it is. */
  readonly readyInMs: number;
  /** Undefined: unchanged. */
  readonly backoff: InstanceBackoff | undefined;
}

/** Writes the status of instances for the agent. */
export class InstanceNotes {
  readonly #options: { readonly store: ObjectStore; readonly clock: Clock };

  constructor(options: { readonly store: ObjectStore; readonly clock: Clock }) {
    this.#options = options;
  }

  /**
   * Writes status, conditions and other fields of an instance; no-op if the instance was deleted or replaced.
   * @param status undefined keeps the phase
   */
  async note(
    instance: Instance,
    status: InstancePhase | undefined,
    conditions: readonly NotedCondition[],
    more: StatusUpdate<Instance> = {},
  ): Promise<void> {
    const now = timestamp(this.#options.clock);
    const key = { namespace: instance.namespace, name: instance.name };
    await runTxn(this.#options.store, async (txn) => {
      const current = await txn.get(instances, key);
      // Another object may have the name now.
      if (current?.metadata.uid !== instance.metadata.uid) return;
      let all = current.conditions;
      for (const condition of conditions) all = setCondition(all, condition, now);
      const report = {
        ...more,
        ...(status ? { status } : {}),
        ...(all ? { conditions: all } : {}),
      };
      txn.updateStatus(instances, key, report);
    });
  }

  /** Writes a condition and keeps the phase: a workload that is being stopped still runs. */
  stopping(
    instance: Instance,
    condition: NotedCondition,
    more: StatusUpdate<Instance> = {},
  ): Promise<void> {
    return this.note(instance, undefined, [condition], more);
  }

  /**
   * Reports an unavailable runtime. The phase is kept, because the workload may still run. Readiness becomes Unknown if
   * the phase is Running, else False.
   */
  runtimeUnavailable(instance: Instance, message: string): Promise<void> {
    const status = instance.status === 'Running' ? 'Unknown' : 'False';
    const reason = 'RuntimeUnavailable';
    return this.note(instance, undefined, [
      { type: 'ContainersReady', status, reason, message },
      { type: 'Ready', status, reason, message },
    ]);
  }

  /** Reports a running workload with its mounts, files, limits and addresses. */
  running(instance: Instance, note: RunningNote): Promise<void> {
    const { state, mounts, files, backoff, readyInMs } = note;
    const { container, image, ip } = state;
    const hostPorts = hostPortsOf(instance, state);
    const runs = container ? `container ${container.slice(0, 12)}` : `process ${state.pid}`;
    const { unenforced, changedLimits, impaired, previousEnd } = state;
    const ready = impaired
      ? noted('Ready', false, impaired.reason, impaired.message)
      : readyInMs > 0
        ? noted('Ready', false, 'Starting', `${runs} is running; ready in ${inSeconds(readyInMs)}`)
        : noted('Ready', true, 'Running', runs);
    const conditions = [
      noted('VolumesReady', true, 'Mounted', mountedVolumesOf(mounts)),
      impaired
        ? { ...ready, type: 'ContainersReady' as const }
        : noted('ContainersReady', true, 'Running', runs),
      ready,
    ];
    const deviations = [changedLimits, unenforced].filter((text) => text !== undefined);
    const deviation = changedLimits === undefined ? 'LimitsNotEnforced' : 'LimitsChanged';
    if (deviations.length > 0)
      conditions.push(noted('LimitsEnforced', false, deviation, deviations.join('; ')));
    else if (findCondition(instance.conditions, 'LimitsEnforced'))
      conditions.push(
        noted('LimitsEnforced', true, 'LimitsEnforced', 'all limits of the workload are enforced'),
      );
    if (files?.type === 'ready')
      conditions.push(
        noted('FilesReady', true, 'Written', 'up to date with the secrets and configmaps'),
      );
    else if (files)
      conditions.push(
        noted(
          'FilesReady',
          false,
          inputsReason[files.type],
          files.type === 'removed' ? files.message : `previous files are kept: ${files.message}`,
        ),
      );
    return this.note(instance, 'Running', conditions, {
      pid: state.pid,
      ...(container && { containerId: container }),
      ...(image && { imageDigest: image }),
      startedAt: new Date(state.startedAt).toISOString(),
      restartCount: restartsOf(state, backoff ?? instance.backoff),
      failureMessage: '',
      mounts,
      // Written only if there is an address, or was one.
      ...((ip !== undefined || instance.ip) && { ip: ip ?? '' }),
      ...((hostPorts.length > 0 || instance.hostPorts) && { hostPorts }),
      ...(backoff ? { backoff } : {}),
      ...(previousEnd && { exitCode: previousEnd.exitCode, exitReason: previousEnd.reason }),
    });
  }
}

/** The message of the condition VolumesReady. */
export function mountedVolumesOf({ length }: readonly unknown[]): string {
  return `${counted(length, 'volume')} mounted`;
}
