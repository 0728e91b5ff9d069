import { createHash } from 'node:crypto';
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
import { createServer, connect, type Server } from 'node:net';
import { join } from 'node:path';
import { Level } from 'level';
import { failedPrecondition, messageOf, StatusError } from '../base/index.js';

/**
 * One owner per data directory, whatever path, process or container it is reached from.
 *
 * Guarantees:
 * - At most one holder, also across pid, network and mount namespaces of one kernel.
 * - The kernel frees the lock when its process ends, however it ends.
 * - A refused attempt changes nothing but the log of the lock's own folder.
 *
 * Three locks stand behind that. The kernel's lock on `lock/LOCK` is the one that holds across
 * namespaces. It is taken by a LevelDB without content, because Node has no call for it. The kernel
 * drops it when the process closes any handle of that file, so nothing may read `lock/LOCK`; should
 * somebody do so, an abstract socket still refuses other processes of the same network namespace. A
 * registry refuses this process itself, to which the kernel would grant its own lock again.
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

function socketName(identity: string): string {
  return `\0kedge-${createHash('sha256').update(identity).digest('hex').slice(0, 32)}`;
}

function askOwner(name: string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const unknown = (): void => resolve('another process');
    const socket = connect(name);
    socket.setTimeout(1_000, () => socket.destroy());
    socket.on('data', (data) => (text += data.toString()));
    socket.on('error', unknown);
    socket.on('close', () => (/^\d+$/.test(text) ? resolve(`process ${text}`) : unknown()));
  });
}

function listen(server: Server, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(name, () => resolve());
  });
}

async function lockSocket(directory: string, identity: string): Promise<Server | undefined> {
  if (process.platform !== 'linux') return undefined;
  const name = socketName(identity);
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    // Anybody in the network namespace may connect; who does not hang up holds no descriptor here.
    socket.end(String(process.pid), () => socket.destroy());
  });
  try {
    await listen(server, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE')
      throw refused(directory, await askOwner(name));
    throw error;
  }
  server.unref();
  return server;
}

/** Which pid namespace this process counts in; a pid says nothing elsewhere. */
async function pidNamespace(): Promise<string> {
  return readlink('/proc/self/ns/pid').catch(() => '');
}

/** Who the pid file says holds the directory; only a hint, the locks decide. */
async function hintedOwner(directory: string): Promise<string> {
  const text = await readFile(join(directory, pidFile), 'utf8').catch(() => '');
  const [pid = '', namespace = ''] = text.trim().split(' ');
  if (!/^\d+$/.test(pid)) return 'another process';
  if (namespace !== (await pidNamespace())) return `another process (pid ${pid} in its container)`;
  return `process ${pid}`;
}

/** The kernel's lock, as the LOCK of an empty database; closing the database frees it. */
async function lockFile(directory: string): Promise<Level> {
  const folder = join(directory, lockFolder);
  const take = async (): Promise<Level> => {
    const level = new Level(folder, { writeBufferSize: 64 * 1024, cacheSize: 64 * 1024 });
    try {
      await level.open();
      return level;
    } catch (error) {
      const cause: unknown = error instanceof Error ? (error.cause ?? error) : error;
      const { code } = cause as { readonly code?: unknown };
      // ENOLCK, ENOSYS, EOPNOTSUPP: the file system has no locks, so nobody holds this one.
      const impossible = /No locks available|not implemented|not supported/i.test(messageOf(cause));
      if (code === 'LEVEL_LOCKED' && !impossible)
        throw refused(directory, await hintedOwner(directory));
      throw cause;
    }
  };
  await mkdir(folder, { recursive: true, mode: 0o700 });
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

/**
 * Takes the directory for this process, creating it with mode 0700.
 * @throws StatusError FailedPrecondition (DirectoryLocked) that names the owner where it is known,
 * Unavailable (LockUnavailable) when the lock itself can't be made.
 */
export async function lockDirectory(path: string): Promise<DirectoryLock> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const directory = await realpath(path);
  const { dev, ino } = await stat(directory, { bigint: true });
  const identity = `${dev}:${ino}`;
  // By inode as well: a bind mount has a real path of its own.
  const names = [directory, identity];
  if (names.some((name) => held.has(name)))
    throw refused(directory, `this process (${process.pid})`);
  for (const name of names) held.add(name);
  let server: Server | undefined;
  let database: Level | undefined;
  const free = async (): Promise<void> => {
    server?.close();
    try {
      await database?.close();
    } finally {
      for (const name of names) held.delete(name);
    }
  };
  try {
    server = await lockSocket(directory, identity);
    database = await lockFile(directory);
    await writeFile(join(directory, pidFile), `${process.pid} ${await pidNamespace()}\n`);
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
