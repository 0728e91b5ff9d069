import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkloadMount } from '../runtime/runtime.js';

/** What a supervisor reads in the folder of its run. */
export interface RunFolder {
  /** Lines of {@link bindLine}. */
  readonly binds: readonly string[];
  /** How the workload's privileges are set. */
  readonly words: readonly string[];
  /** Directories and files that the workload does not see. */
  readonly hiddenDirectories: readonly string[];
  /** Hold volumes of several workloads: of each the workload sees its own alone. */
  readonly volumeDirectories: readonly string[];
}

/** A mount as the supervisor reads it. @throws Error for a path that can't be written so */
export function bindLine({ readOnly, source, target, subPath }: WorkloadMount): string {
  const fields = [readOnly ? 'ro' : 'rw', source, target, ...(subPath ? [subPath] : [])];
  if (fields.some((field) => /[\t\n]/.test(field)))
    throw new Error(`the mount at ${target} has a tab or a line break in one of its paths`);
  return `${fields.join('\t')}\n`;
}

async function writeLines(file: string, lines: readonly string[]): Promise<void> {
  await writeFile(file, lines.map((line) => `${line}\n`).join(''));
}

/** Makes the folder of a run, and the directories that volumes of several workloads lie in. */
export async function writeRunFolder(
  directory: string,
  { binds, words, hiddenDirectories, volumeDirectories }: RunFolder,
): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeFile(join(directory, 'binds'), binds.join(''));
  await writeLines(join(directory, 'hidden'), hiddenDirectories);
  // One that is made later would not be covered in a workload that runs by then. Elsewhere the box has one of its
  // own: kedged makes none where a disk may be mounted later.
  for (const path of volumeDirectories.filter((line) => /^\/(var\/)?tmp\//.test(line)))
    await mkdir(path, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
      // Where kedged may make no directory, it makes no volume there.
      if (!['EACCES', 'EROFS', 'EEXIST', 'ENOTDIR', 'EPERM'].includes(error.code ?? ''))
        throw error;
    });
  await writeLines(join(directory, 'shared'), volumeDirectories);
  await writeLines(join(directory, 'privileges'), words);
}
