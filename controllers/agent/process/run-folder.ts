import { join } from 'node:path';
import { makeDirectory } from '@kedge/driver-sdk';
import { limitLine } from './cgroup/changed-limit-files.js';
import type { PreparedGroup } from './cgroup/workload-groups.js';
import { sourceWithoutLinks } from '../runtime/mount-source.js';
import { isWithin } from '../runtime/second-paths.js';
import type { WorkloadMount } from '../runtime/runtime.js';
import type { LaunchFile } from '../launch/launcher.js';
import { namesIn, readIfExists, readProcessId } from '../launch/process-table.js';
import type { ExecTarget } from './process-exec.js';
import { filterWords } from './set-id-filter.js';

/** The input of a supervisor in the folder of its run. */
export interface RunFolder {
  /** Lines of {@link bindLines}. */
  readonly binds: readonly string[];
  /** Arguments of setpriv(1) for the workload. */
  readonly words: readonly string[];
  /** Directories and files that are hidden from the workload. */
  readonly hidden: readonly string[];
  /** Directories with volumes of several workloads: a workload sees only its own volumes. */
  readonly volumeDirectories: readonly string[];
  readonly group: PreparedGroup;
}

/**
 * Mounts in the supervisor's format. Their sources have no links, so that the supervisor can refuse a path that leads
 * elsewhere.
 * @param ownDirectories directories that only the daemon writes to
 * @param secondPaths further paths of these directories, in which volumes never are
 * @throws Error for a path that the format can't represent, and for one in `secondPaths`
 */
export function bindLines(
  mounts: readonly WorkloadMount[],
  ownDirectories: readonly string[],
  secondPaths: readonly string[],
): Promise<readonly string[]> {
  return Promise.all(
    mounts.map(async (mount) => {
      const source = await sourceWithoutLinks(mount.source, ownDirectories);
      const place = secondPaths.find((path) => isWithin(source, path));
      if (place !== undefined)
        throw new Error(
          `the volume at ${mount.target} is in a directory of kedged, which is mounted at ${place} too; give it a directory of its own`,
        );
      return bindLine({ ...mount, source });
    }),
  );
}

function bindLine({ readOnly, source, target, subPath }: WorkloadMount): string {
  const fields = [readOnly ? 'ro' : 'rw', source, target, ...(subPath ? [subPath] : [])];
  if (fields.some((field) => /[\t\n]/.test(field)))
    throw new Error(`the mount at ${target} has a tab or a line break in one of its paths`);
  return `${fields.join('\t')}\n`;
}

/** The number of the last run in the folder of a workload; 0 if there was none. */
export function lastRunIn(workload: string): number {
  const runs = namesIn(workload).map((name) => Number(/^run-(\d+)$/.exec(name)?.[1] ?? 0));
  return Math.max(0, ...runs);
}

/**
 * The files through which the last run in the folder of a workload joined its control groups; empty if it joined none.
 */
export function groupsOf(workload: string): readonly string[] {
  return linesOf(join(workload, `run-${lastRunIn(workload)}`, 'groups')) ?? [];
}

/**
 * How the workload of a run was started: arguments of setpriv(1), undefined if an earlier release started it without a
 * sandbox, and the words that filter its system calls.
 */
export function rightsIn(directory: string): Pick<ExecTarget, 'privileges' | 'filter'> {
  if (readProcessId(join(directory, 'pid'))?.boxed !== true)
    return { privileges: undefined, filter: [] };
  const [privileges, filter = []] = ['privileges', 'filter'].map((name) =>
    linesOf(join(directory, name)),
  );
  return { privileges, filter };
}

/** The lines of a file of a run that are not empty; undefined without the file. */
function linesOf(file: string): readonly string[] | undefined {
  return readIfExists(file)
    ?.split('\n')
    .filter((line) => line !== '');
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/**
 * Creates the folder of a run. No other user can enter it, because the temporary files of the run will be in it.
 * @returns the files of the folder, which are written when the supervisor is started
 */
export async function makeRunFolder(
  directory: string,
  { binds, words, hidden, volumeDirectories, group }: RunFolder,
): Promise<readonly LaunchFile[]> {
  await makeDirectory(directory, 0o700);
  const texts = {
    binds: binds.join(''),
    hidden: textOf(hidden),
    shared: textOf(volumeDirectories),
    privileges: textOf(words),
    filter: textOf(filterWords()),
    ...(group.procs.length > 0 && { groups: textOf(group.procs) }),
    ...(group.limits.length > 0 && { limits: textOf(group.limits.map(limitLine)) }),
    ...(group.unenforced !== undefined && { unenforced: group.unenforced }),
  };
  return Object.entries(texts).map(([name, text]) => ({ path: join(directory, name), text }));
}
