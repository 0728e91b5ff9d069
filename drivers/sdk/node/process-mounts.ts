import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type MountEntry, parseMountTable } from './mount-table.js';

/** The mounts of a mount namespace, as a process sees them. */
export interface ProcessMounts {
  readonly pid: number;
  /** The namespace, such as `mnt:[4026531841]`; empty if it may not be read. */
  readonly namespace: string;
  readonly mounts: readonly MountEntry[];
}

/** Pids of this node. */
export async function processIds(): Promise<readonly number[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
}

/** Name of a process; empty for one that ended. */
export async function commandOf(pid: number): Promise<string> {
  return (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim();
}

/**
 * The mounts of all mount namespaces of this node, this one first, from one process per namespace and root.
 * Processes whose mounts can't be read, such as ended ones, are skipped. Each process whose namespace can't be read
 * counts as one of its own.
 */
export async function* processMounts(): AsyncGenerator<ProcessMounts> {
  const seen = new Set<string>();
  for (const pid of [process.pid, ...(await processIds())]) {
    const link = (name: string): Promise<string> =>
      readlink(join('/proc', String(pid), name)).catch(() => '');
    const [namespace, root] = await Promise.all([link('ns/mnt'), link('root')]);
    const view = namespace === '' || root === '' ? `pid ${pid}` : `${namespace} ${root}`;
    if (seen.has(view)) continue;
    seen.add(view);
    const text = await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '');
    if (text !== '') yield { pid, namespace, mounts: parseMountTable(text) };
  }
}
