import type { WorkloadState } from '../runtime/runtime.js';
import type { ContainerInspection } from './engine/engine-containers.js';
import { engineLabels } from './run-identity.js';
import { containerPaused } from '../../messages/starts.js';

/** Whether the engine has a process of the container. */
export function isRunning({ state }: Pick<ContainerInspection, 'state'>): boolean {
  return state === 'running' || state === 'paused' || state === 'restarting';
}

/** The change by a user of the engine that keeps a running container from its work; undefined if there is none. */
function impairmentOf(
  { state, id, name, networkMode, addresses }: ContainerInspection,
  network: string,
): Extract<WorkloadState, { state: 'running' }>['impaired'] {
  const label = `container ${id.slice(0, 12)}`;
  if (state === 'paused')
    return {
      reason: 'Paused',
      message: `${label} is paused, and not by Kedge; ${containerPaused.format({ container: name })}`,
    };
  if (networkMode === network && addresses[network] === undefined)
    return {
      reason: 'NetworkLost',
      message: `${label} was disconnected from network ${network}, and not by Kedge; a restart of the instance connects it`,
    };
  return undefined;
}

/**
 * The state of a workload, from the container of its run. A container that was created but never started counts as
 * absent if it has no error of a start, because its creator may have been killed; the next start starts it.
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
    case 'restarting': {
      const impaired = impairmentOf(found, network);
      return {
        state: 'running',
        run,
        pid: found.pid,
        startedAt: startedAt ?? createdAt,
        container: found.id,
        image: found.labels[engineLabels.image] ?? found.image,
        ...(ip !== undefined && { ip }),
        ...(found.published.length > 0 && { published: found.published }),
        ...(impaired && { impaired }),
      };
    }
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
