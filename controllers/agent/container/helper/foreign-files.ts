import { constants } from 'node:fs';
import { chmod, lstat, opendir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { messageOf } from 'kedge';
import { DriverError } from '@kedge/driver-sdk';
import { removalByRoot } from '../../../messages/inputs.js';
import { shellWord } from '../../../messages/shell-word.js';
import type { ChangeOwner } from '../../volumes/mount-owner.js';
import { type OneOffContainers, oneOffDirectory } from './one-off.js';

interface Content {
  /** Whether an entry, at any depth, belongs to another user or can't be read. */
  readonly isForeign: boolean;
  /** Directories without write access for their owner, so that their entries can't be removed, outer ones first. */
  readonly closed: readonly string[];
}

/** Searches a directory until the first entry that belongs to another user or can't be read. */
async function contentOf(path: string, uid: number): Promise<Content> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!found) return { isForeign: false, closed: [] };
  if (found.uid !== uid) return { isForeign: true, closed: [] };
  if (!found.isDirectory()) return { isForeign: false, closed: [] };
  const closed = (found.mode & constants.S_IWUSR) === 0 ? [path] : [];
  try {
    for await (const entry of await opendir(path)) {
      const below = await contentOf(join(path, entry.name), uid);
      if (below.isForeign) return below;
      // Not spread: the number of arguments of a call is limited.
      for (const each of below.closed) closed.push(each);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    return { isForeign: true, closed: [] };
  }
  return { isForeign: false, closed };
}

/**
 * Removes a directory with its content. If it contains files of other users, which containers write, or directories
 * that kedged may not read, a container removes it as root.
 * @param uid the user id of kedged
 * @throws DriverError PermissionDenied with the command to type, if no container could remove the directory
 */
export async function removeAlsoForeign(
  path: string,
  uid: number,
  once: Pick<OneOffContainers, 'run'>,
  signal: AbortSignal,
): Promise<void> {
  const { isForeign, closed }: Content =
    uid === 0 ? { isForeign: false, closed: [] } : await contentOf(path, uid);
  if (!isForeign) {
    for (const directory of closed) await chmod(directory, 0o700);
    await rm(path, { recursive: true, force: true });
    return;
  }
  const target = join(oneOffDirectory, basename(path));
  const command = ['rm', '-rf', '--one-file-system', '--', target];
  try {
    await once.run({ command, directory: dirname(path) }, signal);
  } catch (cause) {
    throw new DriverError(
      'PermissionDenied',
      `${path} has files of other users or unreadable directories, which kedged (uid ${uid}) may not remove, and neither did a container: ${messageOf(cause)}; ${removalByRoot.format(shellWord(path))}`,
      { cause },
    );
  }
}

/**
 * Returns a function that changes the owner of a directory in a container, as root. With `groupWrites` it also lets the
 * group write, and new files inherit the group.
 */
export function changeOwnerInContainer(once: Pick<OneOffContainers, 'run'>): ChangeOwner {
  return async (path, { owner, groupWrites }, signal) => {
    const run = (...command: readonly string[]): Promise<void> =>
      once.run({ command: [...command, oneOffDirectory], directory: path }, signal);
    await run('chown', '--no-dereference', owner);
    if (groupWrites) await run('chmod', 'g+rwxs');
  };
}
