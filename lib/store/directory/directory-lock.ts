import {
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { Level } from 'level';
import { failedPrecondition, messageOf, StatusError } from '../../base/index.js';
import { isHeldElsewhere } from './database-error.js';
import { askHolder, type HolderSocket, holdSocket } from './holder-socket.js';

/**
 * One owner per data directory, whatever path, process or container it is reached from.
 *
 * Guarantees:
 * - At most one holder, also across pid, network and mount namespaces of one kernel.
 * - The kernel frees the lock when its process ends, however it ends.
 * - A refused attempt changes nothing but the log of the lock's own folder.
 *
 * Three locks stand behind that, each of which only the owner of the directory can take. The kernel's
 * lock on `lock/LOCK` is the one that decides. It is taken by a LevelDB without content, because Node has
 * no call for it. The kernel drops it when the process closes any handle of that file, so nothing may read
 * `lock/LOCK`; should somebody do so, the socket `lock/holder`, on which the holder listens, still refuses
 * other processes. A registry refuses this process itself, to which the kernel would grant its own lock
 * again.
 *
 * Caveat: a network file system shared by several machines needs working POSIX locks (NFSv4 has them).
 */
export interface DirectoryLock {
  release(): Promise<void>;
}

/** Directories that this process holds, by real path and by device and inode. */
const held = new Set<string>();
const pidFile = 'kedge.pid';
const lockFolder = 'lock';

function refused(directory: string, owner: string): StatusError {
  return failedPrecondition(
    'DirectoryLocked',
    `data directory ${directory} is in use by ${owner}; stop it first, or choose another directory`,
  );
}

function unlockable(directory: string, cause: unknown): StatusError {
  return new StatusError({
    code: 'Unavailable',
    reason: 'LockUnavailable',
    message: `data directory ${directory} can't be locked (${messageOf(cause)}); it needs a writable disk with room, on a file system with POSIX locks`,
    cause,
  });
}

/** Which pid namespace this process counts in; a pid says nothing elsewhere. */
async function pidNamespace(): Promise<string> {
  return readlink('/proc/self/ns/pid').catch(() => '');
}

/** What a holder says of itself: its process id, and where that counts. */
async function selfText(): Promise<string> {
  return `${process.pid} ${await pidNamespace()}`;
}

/** The process that said this of itself, for people. */
async function ownerIn(text: string): Promise<string> {
  const [pid = '', namespace = ''] = text.trim().split(' ');
  if (!/^\d+$/.test(pid)) return 'another process';
  if (namespace !== (await pidNamespace())) return `another process (pid ${pid} in its container)`;
  return `process ${pid}`;
}

/** Who the pid file says holds the directory; only a hint, the locks decide. */
async function hintedOwner(directory: string): Promise<string> {
  return ownerIn(await readFile(join(directory, pidFile), 'utf8').catch(() => ''));
}

/** The kernel's lock, as the LOCK of an empty database; closing the database frees it. */
async function lockFile(directory: string, folder: string): Promise<Level> {
  const take = async (): Promise<Level> => {
    const level = new Level(folder, { writeBufferSize: 64 * 1024, cacheSize: 64 * 1024 });
    try {
      await level.open();
      return level;
    } catch (error) {
      const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
      if (isHeldElsewhere(cause)) throw refused(directory, await hintedOwner(directory));
      throw cause;
    }
  };
  try {
    return await take();
  } catch (error) {
    if (error instanceof StatusError) throw error;
    // The database is damaged or half made. Only its LOCK matters, which stays: were it made anew,
    // two processes could each hold one of the two files.
    for (const name of await readdir(folder))
      if (name !== 'LOCK') await rm(join(folder, name), { force: true });
    return await take();
  }
}

/** A directory's real path, and all names that this process knows it by. */
async function identify(
  path: string,
): Promise<{ readonly directory: string; readonly names: readonly string[] }> {
  try {
    const directory = await realpath(path);
    const { dev, ino } = await stat(directory, { bigint: true });
    // By inode as well: a bind mount has a real path of its own.
    return { directory, names: [directory, `${dev}:${ino}`] };
  } catch (error) {
    throw unlockable(path, error);
  }
}

/**
 * Takes a directory that exists for this process.
 * @throws StatusError FailedPrecondition (DirectoryLocked) that names the owner where it is known,
 * Unavailable (LockUnavailable) when the lock itself can't be made.
 */
export async function lockDirectory(path: string): Promise<DirectoryLock> {
  const { directory, names } = await identify(path);
  if (names.some((name) => held.has(name)))
    throw refused(directory, `this process (${process.pid})`);
  for (const name of names) held.add(name);
  let socket: HolderSocket | undefined;
  let database: Level | undefined;
  const free = async (): Promise<void> => {
    try {
      try {
        await socket?.close();
      } finally {
        await database?.close();
      }
    } finally {
      for (const name of names) held.delete(name);
    }
  };
  try {
    const folder = join(directory, lockFolder);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const holder = await askHolder(folder);
    if (holder !== undefined) throw refused(directory, await ownerIn(holder));
    database = await lockFile(directory, folder);
    socket = await holdSocket(folder, await selfText());
    await writeFile(join(directory, pidFile), `${await selfText()}\n`);
  } catch (error) {
    await free();
    throw error instanceof StatusError ? error : unlockable(directory, error);
  }
  return {
    async release() {
      // On a disk that refuses this a stale hint stays, as after a kill. The locks are freed all the same:
      // the store opens again in this process when the disk is well.
      await rm(join(directory, pidFile), { force: true }).catch(() => undefined);
      await free();
    },
  };
}
