import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { periodMicroseconds } from '../../runtime/cpu-shares.js';
import type { ContainerLimits } from '../engine/engine-limits.js';

/** Where the kernel shows processes and control groups. */
export interface KernelFiles {
  /** Default: /proc. */
  readonly proc?: string;
  /** Default: /sys/fs/cgroup. */
  readonly cgroups?: string;
}

/** The kernel rounds memory to pages, which have at most this size. */
const pageBytesMax = 65_536;
/** Above it, the memory limit of v1 is off. */
const memoryMax = 2 ** 60;

/** The content of a file; undefined if it can't be read. */
async function textOf(file: string): Promise<string | undefined> {
  return (await readFile(file, 'utf8').catch(() => undefined))?.trim();
}

/** A number in a file of a control group; 0 for no limit. Undefined if there is no number. */
function limitIn(text: string | undefined): number | undefined {
  if (text === 'max') return 0;
  const value = text === undefined || text === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? Math.max(0, value) : undefined;
}

function millisIn(quota: string | undefined, period: string | undefined): number | undefined {
  const limit = limitIn(quota);
  return limit === undefined
    ? undefined
    : Math.floor((limit * 1_000) / (limitIn(period) || periodMicroseconds));
}

/**
 * The limits that the kernel enforces for a container, from the files of its control groups: another program may have
 * changed them without the engine. A limit that can't be read is that of the engine: kedged may run in a container, or
 * the engine on another machine. CPU shares are not read on cgroup v2, because engines convert them in different ways.
 * The limit of memory with swap is not read.
 * @param container the whole id of the container, which the names of its control groups contain
 * @param configured the limits in the engine's configuration
 */
export async function enforcedLimits(
  pid: number,
  container: string,
  configured: ContainerLimits,
  { proc = '/proc', cgroups = '/sys/fs/cgroup' }: KernelFiles = {},
): Promise<ContainerLimits> {
  const groups = (await textOf(join(proc, String(pid), 'cgroup'))) ?? '';
  /** The folder of a controller, and whether it is one of v2. */
  const groupOf = (controller: string): { folder: string; isUnified: boolean } | undefined => {
    const lines = groups.split('\n').map((line) => line.split(':'));
    const own = lines.find(([, names]) => names?.split(',').includes(controller));
    const [, names, ...path] = own ?? lines.find(([, all]) => all === '') ?? [];
    const relative = path.join(':');
    // Another process of that number, or a path that is relative to another root.
    if (!relative.includes(container) || relative.includes('/../')) return undefined;
    return names === ''
      ? { folder: join(cgroups, relative), isUnified: true }
      : { folder: join(cgroups, controller, relative), isUnified: false };
  };
  const read = (controller: string, v1: string, v2?: string): Promise<string | undefined> => {
    const group = groupOf(controller);
    const name = group?.isUnified ? v2 : v1;
    return group && name !== undefined
      ? textOf(join(group.folder, name))
      : Promise.resolve(undefined);
  };
  const [quota, period, both, shares, memory, pids] = await Promise.all([
    read('cpu', 'cpu.cfs_quota_us'),
    read('cpu', 'cpu.cfs_period_us'),
    groupOf('cpu')?.isUnified ? read('cpu', '', 'cpu.max') : undefined,
    read('cpu', 'cpu.shares'),
    read('memory', 'memory.limit_in_bytes', 'memory.max'),
    read('pids', 'pids.max', 'pids.max'),
  ]);
  const cpuMillis = both === undefined ? millisIn(quota, period) : millisIn(...pairIn(both));
  const bytes = limitIn(memory);
  const memoryBytes = bytes !== undefined && bytes > memoryMax ? 0 : bytes;
  const isRounded =
    memoryBytes !== undefined &&
    Math.abs(memoryBytes - configured.memoryBytes) < pageBytesMax &&
    memoryBytes > 0;
  return {
    ...configured,
    ...(cpuMillis !== undefined && { cpuMillis }),
    // Without a request the engine writes no shares.
    ...(configured.cpuShares > 0 && { cpuShares: limitIn(shares) ?? configured.cpuShares }),
    ...(memoryBytes !== undefined && !isRounded && { memoryBytes }),
    pids: limitIn(pids) ?? configured.pids,
  };
}

function pairIn(text: string): readonly [string | undefined, string | undefined] {
  const [quota, period] = text.split(' ');
  return [quota, period];
}
