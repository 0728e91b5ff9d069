import type { JsonObject } from 'kedge/rpc';
import type { ResourceLimits } from '../../service/needs/index.js';

/** Maximum processes and threads of a workload that names none. */
const pidsDefault = 4_096;
/** Size of /dev/shm, as the engine has it by default; stated, because an engine may be configured otherwise. */
const sharedMemoryDefault = 64 * 2 ** 20;
/** The kernel accounts the processor time of a workload in periods of this length. */
const periodMicroseconds = 100_000;
/** The kernel's bounds of shares. */
const sharesMin = 2;
const sharesMax = 262_144;

/** The limits of a container in `HostConfig`. */
export function limitSettings(limits: ResourceLimits = {}): JsonObject {
  const { cpuMillis, cpuRequestMillis, memoryBytes, pids, sharedMemoryBytes } = limits;
  return {
    PidsLimit: pids ?? pidsDefault,
    ShmSize: sharedMemoryBytes ?? sharedMemoryDefault,
    // Not NanoCpus: the engine refuses more of those than the node has processors.
    ...(cpuMillis !== undefined && {
      CpuPeriod: periodMicroseconds,
      CpuQuota: Math.ceil((cpuMillis * periodMicroseconds) / 1_000),
    }),
    ...(cpuRequestMillis !== undefined && { CpuShares: sharesOf(cpuRequestMillis) }),
    // The same value for memory with swap: no swap.
    ...(memoryBytes !== undefined && { Memory: memoryBytes, MemorySwap: memoryBytes }),
  };
}

function sharesOf(millis: number): number {
  return Math.min(sharesMax, Math.max(sharesMin, Math.floor((millis * 1_024) / 1_000)));
}
