import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfExists } from '../../launch/process-table.js';
import type { WorkloadState } from '../../runtime/runtime.js';
import type { LimitFile } from './limit-files.js';

/** A file of a control group by its path, with its content. */
type Limit = Pick<LimitFile, 'name' | 'value'>;

/** The files of a control group as the kernel accepted them, for example rounded to pages. */
export async function acceptedIn(
  folder: string,
  files: readonly LimitFile[],
): Promise<readonly Limit[]> {
  const paths = files.map(({ name }) => join(folder, name));
  // An optional file may be missing.
  const texts = await Promise.all(paths.map((path) => readFile(path, 'utf8').catch(() => '')));
  return paths
    .map((name, index) => ({ name, value: (texts[index] ?? '').trim() }))
    .filter(({ value }) => value !== '');
}

/** A limit as a line of the file `limits` in the folder of a run. */
export function limitLine({ name, value }: Limit): string {
  return `${name}\t${value}`;
}

/** The limits in the file `limits`; none for a run of an earlier release. */
function limitsIn(text: string): readonly Limit[] {
  return text.split('\n').flatMap((line) => {
    const [name, value] = line.split('\t');
    return name !== undefined && value !== undefined ? [{ name, value }] : [];
  });
}

/** The content of a file of a control group; undefined if the group was removed meanwhile. */
function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/**
 * Describes the limits that were changed since the start, with the command that restores them; undefined if none was.
 */
function changedLimitFiles(limits: readonly Limit[]): string | undefined {
  const changed = limits.flatMap((limit) => {
    const found = contentOf(limit.name);
    return found === undefined || found === limit.value ? [] : [{ ...limit, found }];
  });
  if (changed.length === 0) return undefined;
  const differences = changed.map(
    ({ name, value, found }) =>
      `${name} has ${JSON.stringify(found)} instead of ${JSON.stringify(value)}`,
  );
  const restoring = changed.map(({ name, value }) => `echo ${value} >${name}`).join('; ');
  return `limits of the process were changed, and not by Kedge: ${differences.join(', ')}; as root, ${restoring} restores them, as does a restart of the instance`;
}

/** The reason why limits of a running process are not enforced, and their changes, by the folder of its run. */
export function limitsNotes(
  directory: string,
): Pick<Extract<WorkloadState, { state: 'running' }>, 'unenforced' | 'changedLimits'> {
  const unenforced = readIfExists(join(directory, 'unenforced'));
  const limits = readIfExists(join(directory, 'limits'));
  const changedLimits = limits === undefined ? undefined : changedLimitFiles(limitsIn(limits));
  return {
    ...(unenforced !== undefined && { unenforced }),
    ...(changedLimits !== undefined && { changedLimits }),
  };
}
