import type { JsonObject } from 'kedge/rpc';
import { periodMicroseconds } from '../../runtime/cpu-shares.js';
import { numberOf } from './answer-fields.js';

/** The limits of a container that the engine can change while it runs; 0: no limit. */
export interface ContainerLimits {
  readonly cpuMillis: number;
  readonly cpuShares: number;
  readonly memoryBytes: number;
  readonly memoryAndSwapBytes: number;
  readonly pids: number;
}

/** Reads the limits from `HostConfig`. The engine writes -1 for some limits that are off. */
export function limitsIn(hostConfig: JsonObject): ContainerLimits {
  const positive = (field: string): number => Math.max(0, numberOf(hostConfig, field));
  const nanoCpus = positive('NanoCpus');
  const millis = (positive('CpuQuota') * 1_000) / (positive('CpuPeriod') || periodMicroseconds);
  return {
    cpuMillis: Math.floor(nanoCpus > 0 ? nanoCpus / 1_000_000 : millis),
    cpuShares: positive('CpuShares'),
    memoryBytes: positive('Memory'),
    memoryAndSwapBytes: positive('MemorySwap'),
    pids: positive('PidsLimit'),
  };
}
