import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAccessible } from '@kedge/driver-sdk';
import type { CgroupVersion } from './limit-files.js';

/** The file that kills all processes of a group of cgroup v2 at once. Linux has it since 5.14. */
const killFile = 'cgroup.kill';
/** The file that freezes a group, with the values that freeze it and let it continue. */
const freezers = {
  v1: { name: 'freezer.state', frozen: 'FROZEN', thawed: 'THAWED' },
  v2: { name: 'cgroup.freeze', frozen: '1', thawed: '0' },
} as const;
/** Maximum number of passes over a group: without a freezer, it may create processes faster than they are killed. */
const roundsMax = 100;

/**
 * Kills all processes of a control group. Without {@link killFile}, the processes are killed one by one, while the
 * group is frozen so that they create no others. A group without a freezer may still have processes afterwards; the
 * caller checks that and calls again.
 * @param folder the group, in the freezer hierarchy for cgroup v1
 */
export async function killGroup(version: CgroupVersion, folder: string): Promise<void> {
  const kill = join(folder, killFile);
  if (version === 'v2' && (await isAccessible(kill))) return writeFile(kill, '1');
  const { name, frozen, thawed } = freezers[version];
  const freezer = join(folder, name);
  // Linux before 5.2 has no freezer in v2.
  if (!(await isAccessible(freezer))) return killEach(folder);
  await writeFile(freezer, frozen);
  try {
    await killEach(folder);
  } finally {
    await writeFile(freezer, thawed);
  }
}

/**
 * Kills the processes of a group, and those that were created meanwhile, until none remains that was not killed, in
 * {@link roundsMax} passes at most.
 */
async function killEach(folder: string): Promise<void> {
  const killed = new Set<number>();
  for (let round = 0; round < roundsMax; round += 1) {
    const text = await readFile(join(folder, 'cgroup.procs'), 'utf8');
    const pids = text.split('\n').map(Number);
    // Killed processes stay in the list until they have ended, and frozen ones of v1 do not end before they continue.
    const alive = pids.filter((pid) => pid > 0 && !killed.has(pid));
    if (alive.length === 0) return;
    for (const pid of alive) {
      killed.add(pid);
      killOne(pid);
    }
  }
}

function killOne(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
