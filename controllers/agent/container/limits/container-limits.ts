import type { JsonObject } from 'kedge/rpc';
import type { ResourceLimits } from '../../../resources/index.js';
import { periodMicroseconds, sharesOf } from '../../runtime/cpu-shares.js';

/** Default maximum of processes and threads of a workload. */
const pidsDefault = 4_096;
/** Size of /dev/shm: the engine's default. It is set explicitly, because an engine may be configured otherwise. */
const sharedMemoryDefault = 64 * 2 ** 20;

/** The limits of a container in `HostConfig`. */
export function limitSettings(limits: ResourceLimits = {}): JsonObject {
  const { cpuMillis, cpuRequestMillis, memoryBytes, pids, sharedMemoryBytes } = limits;
  return {
    PidsLimit: pids ?? pidsDefault,
    ShmSize: sharedMemoryBytes ?? sharedMemoryDefault,
    // Not NanoCpus: the engine refuses a value above the number of processors of the node.
    ...(cpuMillis !== undefined && {
      CpuPeriod: periodMicroseconds,
      CpuQuota: Math.ceil((cpuMillis * periodMicroseconds) / 1_000),
    }),
    ...(cpuRequestMillis !== undefined && { CpuShares: sharesOf(cpuRequestMillis) }),
    // Equal to the limit of memory and swap, so that the workload has no swap.
    ...(memoryBytes !== undefined && { Memory: memoryBytes, MemorySwap: memoryBytes }),
  };
}
