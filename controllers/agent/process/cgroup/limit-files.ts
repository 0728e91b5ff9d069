import type { ResourceLimits } from '../../../resources/index.js';
import { periodMicroseconds, sharesMax, sharesMin, sharesOf } from '../../runtime/cpu-shares.js';

/** A controller of the kernel that enforces limits. */
export type CgroupController = 'cpu' | 'memory' | 'pids';

/** The interface of control groups: v1 has one hierarchy for each controller, v2 one for all. */
export type CgroupVersion = 'v1' | 'v2';

/** A file of a control group, with its value. */
export interface LimitFile {
  readonly name: string;
  readonly value: string;
  /** The file is missing on some kernels. */
  readonly isOptional?: true;
}

/** Processes of a sandbox besides its workload: supervision and setup. */
const boxProcesses = 4;
/** The kernel's bound of weights (v2). */
const weightMax = 10_000;

/** Converts shares of v1 to a weight of v2, by the formula of Kubernetes (KEP 2254). */
function weightOf(shares: number): number {
  return 1 + Math.floor(((shares - sharesMin) * (weightMax - 1)) / (sharesMax - sharesMin));
}

function cpuFiles(version: CgroupVersion, limits: ResourceLimits): readonly LimitFile[] {
  const { cpuMillis, cpuRequestMillis } = limits;
  const files: LimitFile[] = [];
  const quota =
    cpuMillis === undefined ? undefined : Math.ceil((cpuMillis * periodMicroseconds) / 1_000);
  if (quota !== undefined && version === 'v1')
    files.push(
      { name: 'cpu.cfs_period_us', value: String(periodMicroseconds) },
      { name: 'cpu.cfs_quota_us', value: String(quota) },
    );
  else if (quota !== undefined)
    files.push({ name: 'cpu.max', value: `${quota} ${periodMicroseconds}` });
  if (cpuRequestMillis !== undefined) {
    const shares = sharesOf(cpuRequestMillis);
    files.push(
      version === 'v1'
        ? { name: 'cpu.shares', value: String(shares) }
        : { name: 'cpu.weight', value: String(weightOf(shares)) },
    );
  }
  return files;
}

function memoryFiles(version: CgroupVersion, bytes: number): readonly LimitFile[] {
  const value = String(bytes);
  return version === 'v1'
    ? [
        { name: 'memory.limit_in_bytes', value },
        // Memory and swap together.
        { name: 'memory.memsw.limit_in_bytes', value, isOptional: true },
      ]
    : [
        { name: 'memory.max', value },
        { name: 'memory.swap.max', value: '0', isOptional: true },
      ];
}

/** The files that enforce the limits of a workload, by controller; none without limits. */
export function limitFiles(
  version: CgroupVersion,
  limits: ResourceLimits,
): ReadonlyMap<CgroupController, readonly LimitFile[]> {
  const files = new Map<CgroupController, readonly LimitFile[]>();
  const cpu = cpuFiles(version, limits);
  if (cpu.length > 0) files.set('cpu', cpu);
  if (limits.memoryBytes !== undefined)
    files.set('memory', memoryFiles(version, limits.memoryBytes));
  if (limits.pids !== undefined)
    files.set('pids', [{ name: 'pids.max', value: String(limits.pids + boxProcesses) }]);
  return files;
}
