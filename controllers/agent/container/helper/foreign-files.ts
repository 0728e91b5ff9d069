import { lstat, opendir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { messageOf } from 'kedge';
import { DriverError } from '@kedge/driver-sdk';
import { removalByRoot } from '../../../messages/inputs.js';
import { shellWord } from '../../../messages/shell-word.js';
import type { ChangeOwner } from '../../volumes/mount-owner.js';
import { removeTree } from '../../launch/remove-tree.js';
import { type OneOffContainers, oneOffDirectory } from './one-off.js';

/** Whether a directory has an entry, at any depth, that belongs to another user or can't be read. */
async function hasForeign(path: string, uid: number): Promise<boolean> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!found) return false;
  if (found.uid !== uid) return true;
  if (!found.isDirectory()) return false;
  try {
    for await (const entry of await opendir(path))
      if (await hasForeign(join(path, entry.name), uid)) return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    return true;
  }
  return false;
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
  if (!(await hasForeign(path, uid))) {
    const failure = await removeTree(path).catch(messageOf);
    // Without user namespaces this user can't remove what is in directories that are closed to it.
    if (failure === undefined) return;
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
