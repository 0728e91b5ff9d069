import { lstat, readdir, readFile, readlink, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { processMounts } from '@kedge/driver-sdk';

/**
 * The file of a folder that names the folder's owner. It starts with a dot, so it never equals the uid of an instance.
 */
export const ownerFile = '.owner';

/** The daemon that owns a folder. */
export interface FolderOwner {
  readonly dataDirectory: string;
  /** The path of the data directory is valid only in this mount namespace. */
  readonly mountNamespace: string;
}

/** Returns the owner record of a daemon with this data directory in the mount namespace of this process. */
export async function ownerOf(dataDirectory: string): Promise<FolderOwner> {
  return { dataDirectory, mountNamespace: await readlink('/proc/self/ns/mnt') };
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    // An unreadable parent does not prove that the directory is gone.
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT' && error.code !== 'ENOTDIR',
  );
}

async function readOwner(folder: string): Promise<FolderOwner | undefined> {
  try {
    const file = join(folder, ownerFile);
    if (!(await lstat(file)).isFile()) return undefined;
    const found = JSON.parse(await readFile(file, 'utf8')) as Partial<FolderOwner>;
    const { dataDirectory, mountNamespace } = found;
    if (typeof dataDirectory !== 'string' || typeof mountNamespace !== 'string') return undefined;
    return { dataDirectory, mountNamespace };
  } catch {
    // A folder without a readable owner may belong to a running daemon: it is kept.
    return undefined;
  }
}

/** Whether any visible process has a file of the folder mounted. */
async function isMounted(folder: string): Promise<boolean> {
  // The root of a mount is the mounted path within its file system.
  const suffix = `/${folder.split('/').at(-1) ?? ''}/`;
  for await (const { mounts } of processMounts())
    if (mounts.some(({ root }) => `${root}/`.includes(suffix))) return true;
  return false;
}

/**
 * Removes the folders beside `own` that are no longer needed: the data directory of the owner was deleted, so no daemon
 * adopts its workloads, and no process has a file of the folder mounted. Folders of other users, of other mount
 * namespaces and of unknown owners are kept.
 * @returns the removed paths
 */
export async function sweepAbandonedDataFiles(own: string): Promise<readonly string[]> {
  const parent = dirname(own);
  const mountNamespace = await readlink('/proc/self/ns/mnt');
  const removed: string[] = [];
  for (const name of await readdir(parent)) {
    const folder = join(parent, name);
    if (!/^kedge-[0-9a-f]{16}$/.test(name) || folder === own) continue;
    const found = await lstat(folder).catch(() => undefined);
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue;
    const owner = await readOwner(folder);
    if (owner?.mountNamespace !== mountNamespace) continue;
    if ((await exists(owner.dataDirectory)) || (await isMounted(folder))) continue;
    await rm(folder, { recursive: true, force: true });
    removed.push(folder);
  }
  return removed;
}

/**
 * Removes a folder that contains nothing but the file with its owner. Keeps it if it contains other files or may not be
 * removed; no-op if it does not exist.
 */
export async function removeUnusedFolder(folder: string): Promise<void> {
  const expected = ['ENOENT', 'ENOTEMPTY', 'ENOTDIR', 'EPERM', 'EACCES'];
  try {
    if ((await readdir(folder)).some((name) => name !== ownerFile)) return;
    await rm(join(folder, ownerFile), { force: true });
    await rmdir(folder);
  } catch (error) {
    if (!expected.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
