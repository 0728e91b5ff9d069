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
import { askHolder, type HolderSocket, holdSocket, removeSocket } from './holder-socket.js';

/**
 * One owner per data directory, across paths, processes and containers.
 *
 * Guarantees:
 * - At most one holder, also across pid, network and mount namespaces of one kernel.
 * - The kernel frees the lock when its process ends in any way.
 * - A refused attempt changes only the log of the lock's own folder.
 *
 * It consists of three locks. The kernel's lock on `lock/LOCK` is authoritative. An empty LevelDB takes it, because
 * Node has no call for it. The kernel drops it when the process closes any handle of that file, so nothing may read
 * `lock/LOCK`. If that happens anyway, the holder's socket `lock/holder` still refuses other processes. A registry
 * refuses a second lock of this process, which the kernel would grant.
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

/** The process that has locked a directory, as far as it is known. */
interface Owner {
  /** For messages. */
  readonly text: string;
  /** Its process id in this pid namespace. */
  readonly pid?: string;
}

function refused(directory: string, { text, pid }: Owner): StatusError {
  return failedPrecondition(
    'DirectoryLocked',
    `data directory ${directory} is in use by ${text}; stop it first, or choose another directory`,
    pid === undefined ? undefined : { kind: 'Process', name: pid },
  );
}

function unlockable(directory: string, cause: unknown): StatusError {
  return new StatusError({
    code: 'Unavailable',
    reason: 'LockUnavailable',
    message: `data directory ${directory} can't be locked (${messageOf(cause)}); it needs a writable disk with free space, on a file system with POSIX locks`,
    cause,
  });
}

/** The pid namespace of this process; a pid is meaningful only within its namespace. */
async function pidNamespace(): Promise<string> {
  return readlink('/proc/self/ns/pid').catch(() => '');
}

/** The text by which a holder identifies itself: its process id and pid namespace. */
async function selfText(): Promise<string> {
  return `${process.pid} ${await pidNamespace()}`;
}

/** Reads the text of a holder. */
async function ownerIn(text: string): Promise<Owner> {
  const [pid = '', namespace = ''] = text.trim().split(' ');
  if (!/^\d+$/.test(pid)) return { text: 'another process' };
  if (namespace !== (await pidNamespace()))
    return { text: `another process (pid ${pid} in its container)` };
  return { text: `process ${pid}`, pid };
}

/** The holder according to the pid file. It is only a hint; the locks decide. */
async function hintedOwner(directory: string): Promise<Owner> {
  return ownerIn(await readFile(join(directory, pidFile), 'utf8').catch(() => ''));
}

/**
 * Takes the kernel's lock, as the LOCK of an empty database; closing the database frees it.
 * @throws StatusError FailedPrecondition (DirectoryLocked); errors of the database
 */
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
    // The database is damaged or incomplete. Only its LOCK matters, which is kept: if it were recreated, two
    // processes could each lock one of the two files.
    for (const name of await readdir(folder))
      if (name !== 'LOCK') await removeSocket(join(folder, name));
    return await take();
  }
}

/** Returns a directory's real path and its names in the registry. @throws StatusError Unavailable (LockUnavailable) */
async function identify(
  path: string,
): Promise<{ readonly directory: string; readonly names: readonly string[] }> {
  try {
    const directory = await realpath(path);
    const { dev, ino } = await stat(directory, { bigint: true });
    // The inode is compared too, because a bind mount has another real path.
    return { directory, names: [directory, `${dev}:${ino}`] };
  } catch (error) {
    throw unlockable(path, error);
  }
}

/**
 * Locks an existing directory for this process.
 * @throws StatusError FailedPrecondition (DirectoryLocked) with the owner as its resource, kind `Process`, if its
 * process id is known; Unavailable (LockUnavailable) if the lock can't be created
 */
export async function lockDirectory(path: string): Promise<DirectoryLock> {
  const { directory, names } = await identify(path);
  if (names.some((name) => held.has(name)))
    throw refused(directory, { text: `this process (${process.pid})` });
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
      // If the removal fails, a stale hint stays, as after a kill. The locks are released anyway: this process can
      // open the store again when the disk works.
      await rm(join(directory, pidFile), { force: true }).catch(() => undefined);
      await free();
    },
  };
}
