import type { WorkloadState } from '../runtime/runtime.js';
import type { ContainerInspection } from './engine/engine-containers.js';
import { engineLabels } from './run-identity.js';

/** Whether the engine has a process of the container. */
export function isRunning({ state }: Pick<ContainerInspection, 'state'>): boolean {
  return state === 'running' || state === 'paused' || state === 'restarting';
}

/**
 * The state of a workload, from the container of its run. A container that was created but never started counts as
 * absent, because its creator may have been killed; the next start starts it.
 * @param network the network of the cluster
 * @param requested whether the agent requested the end of this run
 */
export function workloadState(
  found: ContainerInspection,
  run: number,
  network: string,
  requested: boolean,
): WorkloadState {
  const ip = found.addresses[network];
  const { state, startedAt, finishedAt, createdAt, error, exitCode, outOfMemory } = found;
  switch (state) {
    case 'running':
    case 'paused':
    case 'restarting':
      return {
        state: 'running',
        run,
        pid: found.pid,
        startedAt: startedAt ?? createdAt,
        container: found.id,
        image: found.labels[engineLabels.image] ?? found.image,
        ...(ip !== undefined && { ip }),
        ...(found.published.length > 0 && { published: found.published }),
      };
    case 'created':
      // The engine keeps the error of a failed start until the container is removed.
      if (error !== '') return { state: 'startFailed', run, message: error };
      return { state: 'absent' };
    default: {
      const began = startedAt ?? createdAt;
      return {
        state: 'exited',
        run,
        exitCode,
        startedAt: began,
        // For a short run the engine may record a start that is later than the end.
        exitedAt: Math.max(finishedAt ?? began, began),
        requested,
        ...(outOfMemory && { reason: 'OOMKilled' as const }),
      };
    }
  }
}
