import { parseMilliQuantity, parseQuantity } from 'kedge/objects';
import type { InstanceTemplate } from '@kedge/api/kinds';

/** The part of a template with the requests and limits of a workload. */
export type Needy = Pick<InstanceTemplate, 'runtime' | 'network' | 'ports' | 'resources'>;

/** The limits of a workload. An absent one is not enforced, but containers have defaults for `pids` and shared memory. */
export interface ResourceLimits {
  /** Thousandths of a processor. */
  readonly cpuMillis?: number;
  /** The workload's share of the processors under contention, thousandths. */
  readonly cpuRequestMillis?: number;
  readonly memoryBytes?: number;
  readonly pids?: number;
  readonly sharedMemoryBytes?: number;
}

/** The resources that a node must have free for a workload. */
export interface ResourceRequests {
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly pids: number;
}

function millisOf(text: string | undefined): number | undefined {
  const value = text ? parseMilliQuantity(text) : undefined;
  return value === undefined ? undefined : Number(value);
}

function bytesOf(text: string | undefined): number | undefined {
  const value = text ? parseQuantity(text) : undefined;
  return value === undefined ? undefined : Number(value);
}

/** The limits of a template. */
export function limitsOf({ resources }: Needy): ResourceLimits {
  const { cpu, memory, pids, sharedMemory } = resources ?? {};
  const cpuMillis = millisOf(cpu?.limit);
  const cpuRequestMillis = millisOf(cpu?.request || cpu?.limit);
  const memoryBytes = bytesOf(memory?.limit);
  const sharedMemoryBytes = bytesOf(sharedMemory);
  return {
    ...(cpuMillis !== undefined && { cpuMillis }),
    ...(cpuRequestMillis !== undefined && { cpuRequestMillis }),
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(pids !== undefined && { pids }),
    ...(sharedMemoryBytes !== undefined && { sharedMemoryBytes }),
  };
}

/** The resources of a node. One that the node does not report is absent. */
export function capacityOf(
  capacity: Readonly<Record<string, string>> = {},
): Partial<ResourceRequests> {
  const cpuMillis = millisOf(capacity.cpu);
  const memoryBytes = bytesOf(capacity.memory);
  const pids = bytesOf(capacity.pids);
  return {
    ...(cpuMillis !== undefined && { cpuMillis }),
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(pids !== undefined && { pids }),
  };
}

/** The requests of a template. As in Kubernetes, a limit without a request is the request. */
export function requestsOf({ resources }: Needy): ResourceRequests {
  const { cpu, memory, pids } = resources ?? {};
  return {
    cpuMillis: millisOf(cpu?.request || cpu?.limit) ?? 0,
    memoryBytes: bytesOf(memory?.request || memory?.limit) ?? 0,
    pids: pids ?? 0,
  };
}
