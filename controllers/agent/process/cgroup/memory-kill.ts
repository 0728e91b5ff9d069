import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CgroupVersion } from './limit-files.js';

/** The lack of memory that made the kernel kill a workload: of its own limit, of the node, or of one of both. */
export type MemoryKillCause = 'limit' | 'node' | 'unknown';

/** The text of a file of a control group; empty if it does not exist. */
function textOf(folder: string, file: string): string {
  const path = join(folder, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

function countIn(text: string, name: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}

/**
 * The cause of the kills in a control group, from its counters; undefined if there was no kill. The kernel counts
 * `oom_kill` in the group of the killed process also if a group above, or the machine, ran out of memory.
 *
 * - v2: `oom` counts only the times at which this group, which has none below it, had no memory left within its limit.
 * - v1: `failcnt` counts how often the limit was reached, also if page cache was freed then. Only 0 is certain.
 */
export function memoryKillIn(version: CgroupVersion, folder: string): MemoryKillCause | undefined {
  if (version === 'v2') {
    const events = textOf(folder, 'memory.events');
    if (countIn(events, 'oom_kill') === 0) return undefined;
    return countIn(events, 'oom') > 0 ? 'limit' : 'node';
  }
  if (countIn(textOf(folder, 'memory.oom_control'), 'oom_kill') === 0) return undefined;
  const reached = ['memory.failcnt', 'memory.memsw.failcnt']
    .map((file) => textOf(folder, file).trim())
    .filter((count) => count !== '');
  return reached.length > 0 && reached.every((count) => count === '0') ? 'node' : 'unknown';
}
