import { execFile } from 'node:child_process';
import { readdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs losetup and returns its output. @throws Error with its error output */
export async function losetup(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('losetup', args);
  return stdout.trim();
}

/** The kernel's list of block devices. */
const blockDevices = '/sys/block';

/** Whether a file of the kernel does not exist, or its device was removed while it was read. */
function isGone(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' || code === 'ENODEV' || code === 'ENXIO';
}

/** The file of a loop device, as the kernel shows it; undefined for a device without a file. */
async function backingFile(name: string): Promise<string | undefined> {
  try {
    const text = await readFile(join(blockDevices, name, 'loop/backing_file'), 'utf8');
    return text.replace(/\n$/, '');
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/**
 * Returns the path of a file's loop device; undefined if it has none. It reads files of the kernel, as tests ask too
 * often to start a program each time. It compares resolved paths, so it does not find a device that was created
 * through another link or mount of the file.
 */
export async function loopOf(file: string): Promise<string | undefined> {
  // The kernel shows another path for a removed file, so no device is found for it.
  const path = await realpath(file).catch((error: unknown) => {
    if (isGone(error)) return undefined;
    throw error;
  });
  if (path === undefined) return undefined;
  const loops = (await readdir(blockDevices)).filter((name) => /^loop\d+$/.test(name));
  const files = await Promise.all(loops.map(backingFile));
  const found = loops.find((_, at) => files[at] === path);
  return found === undefined ? undefined : join('/dev', found);
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
