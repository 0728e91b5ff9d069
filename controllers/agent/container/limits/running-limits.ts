import type { WorkloadState } from '../../runtime/runtime.js';
import type { EngineClient } from '../engine/engine-client.js';
import type { ContainerInspection } from '../engine/engine-containers.js';
import { changedLimits, missingLimits, unsupportedLimits } from './changed-limits.js';
import { enforcedLimits, type KernelFiles } from './cgroup-limits.js';

type Running = Extract<WorkloadState, { state: 'running' }>;

/**
 * Adds to the state of a running container how its limits differ from those of its creation: those that the kernel of
 * the engine does not have, and those that were changed in the engine or in the control groups.
 * @throws EngineError if the engine does not say which limits it supports
 */
export async function withLimits(
  engine: Pick<EngineClient, 'unsupportedLimits'>,
  state: Running,
  found: ContainerInspection,
  signal: AbortSignal,
  files?: KernelFiles,
): Promise<Running> {
  // The engine is asked only if a limit other than that of swap is missing: many kernels do not count swap.
  const isMissing = missingLimits(found).some((field) => field !== 'memoryAndSwapBytes');
  const unsupported = isMissing ? await engine.unsupportedLimits(signal) : [];
  const limits = await enforcedLimits(found.pid, found.id, found.limits, files);
  const unenforced = unsupportedLimits(found, unsupported);
  const changed = changedLimits({ ...found, limits }, unsupported);
  return {
    ...state,
    ...(unenforced !== undefined && { unenforced }),
    ...(changed !== undefined && { changedLimits: changed }),
  };
}
