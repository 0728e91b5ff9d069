import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile, syncFolder } from '@kedge/driver-sdk';
import { markFile, rootFolder, type RootSituation } from './plan.js';

/** An opened storage root; `handle` keeps its file system mounted, and the caller must close it. */
export type OpenedRoot =
  | { readonly type: 'absent' }
  | {
      readonly type: 'present';
      readonly handle: FileHandle;
      /** Device and inode. */
      readonly identity: string;
      /** The cluster id in its mark; undefined without a mark. */
      readonly clusterId: string | undefined;
    };

const directoryOnly = constants.O_RDONLY | constants.O_DIRECTORY;

async function orAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The directory of a handle, even if its path was mounted over since. */
function behind(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

/** Opens a root and reads its mark. Changes nothing. */
export async function openRoot(path: string): Promise<OpenedRoot> {
  const handle = await orAbsent(open(path, directoryOnly));
  if (!handle) return { type: 'absent' };
  try {
    const { dev, ino } = await handle.stat({ bigint: true });
    const text = await orAbsent(readFile(join(behind(handle), rootFolder, markFile), 'utf8'));
    return { type: 'present', handle, identity: `${dev}:${ino}`, clusterId: text?.trim() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The inputs of {@link planRoot} for an opened root. */
export async function describeRoot(opened: OpenedRoot): Promise<RootSituation['found']> {
  if (opened.type === 'absent') return opened;
  if (opened.clusterId !== undefined) return { type: 'marked', clusterId: opened.clusterId };
  const directory = behind(opened.handle);
  const entries = await readdir(directory);
  const snapshots = (await orAbsent(readdir(join(directory, 'snapshots')))) ?? [];
  return { type: 'unmarked', entries: [...entries, ...snapshots] };
}

/** Creates the folder for the mark and the lock. */
export async function makeRootFolder(handle: FileHandle): Promise<void> {
  await mkdir(join(behind(handle), rootFolder), { recursive: true, mode: 0o700 });
}

/** Marks a root with a cluster id, atomically and durably. */
export async function markRoot(handle: FileHandle, clusterId: string): Promise<void> {
  const folder = join(behind(handle), rootFolder);
  await replaceFile(join(folder, markFile), `${clusterId}\n`);
  await syncFolder(behind(handle));
}
