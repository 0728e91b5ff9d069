import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs losetup and returns its output. @throws Error with its error output */
export async function losetup(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('losetup', args);
  return stdout.trim();
}

/** Returns the path of a file's loop device; undefined if it has none. */
export async function loopOf(file: string): Promise<string | undefined> {
  const name = await losetup('--associated', file, '--noheadings', '--output', 'NAME');
  return name.split('\n')[0]?.trim() || undefined;
}

/** Creates a loop device for a file unless it has one, and returns its path. */
export async function attachLoop(file: string): Promise<string> {
  const known = await loopOf(file);
  if (known !== undefined) return known;
  for (let attempt = 1; ; attempt += 1)
    try {
      return await losetup('--find', '--show', file);
    } catch (error) {
      // Another process took the free device first.
      if (attempt === 5) throw error;
    }
}

/** Detaches the loop device of a file, even if its file system is mounted. No-op for a file without a device. */
export async function detachLoop(file: string): Promise<void> {
  const device = await loopOf(file);
  if (device !== undefined) await losetup('--detach', device);
}

/** Returns the paths of files below a folder that have loop devices. */
export async function loopedFiles(folder: string): Promise<readonly string[]> {
  const table = await losetup('--list', '--noheadings', '--output', 'BACK-FILE');
  return table
    .split('\n')
    .map((line) => line.trim().replace(/ \(deleted\)$/, ''))
    .filter((file) => file.startsWith(`${folder}/`));
}
