import { constants } from 'node:fs';
import {
  type FileHandle,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  realpath,
  rename,
  rm,
  rmdir,
  statfs,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { turns } from '../turns/serial-work.js';
import { makeDirectory } from './make-directory.js';
import { deviceNumber, formatDeviceNumber, readMountTable } from './mount-table.js';
import { type FileKind, type HostFiles, isAbsence, type NodeHost } from './node-host.js';
import { hasFileSystem, nodeHolders } from './node-holders.js';
import { processMounts } from './process-mounts.js';
import { SharedSyncs } from './replace-file.js';
import { requireCommand, type RunCommand, runCommand } from './run-command.js';

const probeBytes = 1024 * 1024;
/** Volumes that are created at once share the sync of their folder. */
const folderSyncs = new SharedSyncs();

async function absentIsUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

async function kindAt(path: string): Promise<FileKind> {
  const found = await absentIsUndefined(lstat(path));
  if (!found) return 'absent';
  if (found.isDirectory()) return 'directory';
  if (found.isFile()) return 'file';
  if (found.isSymbolicLink()) return 'link';
  return found.isBlockDevice() ? 'blockDevice' : 'other';
}

async function extend(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    if (size < bytes) await file.truncate(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function allZero(file: FileHandle, position: number, length: number): Promise<boolean> {
  const bytes = Buffer.alloc(length);
  for (let read = 0; read < length; ) {
    const { bytesRead } = await file.read(bytes, read, length - read, position + read);
    if (bytesRead === 0) throw new Error(`it ends at byte ${position + read}`);
    read += bytesRead;
  }
  return bytes.every((byte) => byte === 0);
}

async function startsAndEndsBlank(device: string, sizeBytes: bigint): Promise<boolean> {
  const file = await open(device, 'r');
  try {
    const size = Number(sizeBytes);
    const length = Math.min(probeBytes, size);
    if (length === 0) throw new Error('its size is 0');
    return (await allZero(file, 0, length)) && (await allZero(file, size - length, length));
  } finally {
    await file.close();
  }
}

/**
 * Workloads that have a directory open, also without its mount, could replace one below it by a link meanwhile: rm(1)
 * of GNU opens each directory relative to the one above it and follows no link, unlike the function of Node.js.
 */
async function remove(path: string): Promise<void> {
  if ((await kindAt(path)) !== 'directory') return rm(path, { force: true });
  const { signal } = new AbortController();
  await requireCommand(runCommand, 'rm', ['-rf', '--', path], signal);
}

const files: HostFiles = {
  kindAt,
  realPath: (path) => absentIsUndefined(realpath(path)),
  async makeFolder(path, { mode, parents = false }) {
    const making = parents ? makeDirectory(path, mode) : mkdir(path, { mode });
    await making.catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  },
  makeTemporaryFolder: (prefix) => mkdtemp(join(tmpdir(), prefix)),
  removeFolder: (path) => rmdir(path),
  list: (folder) => readdir(folder),
  rename: (from, to) => rename(from, to),
  remove,
  syncFolder: (path) => folderSyncs.sync(path),
  size: async (path) => BigInt((await lstat(path)).size),
  async identity(path) {
    const found = await absentIsUndefined(lstat(path, { bigint: true }));
    return found && `${formatDeviceNumber(Number(found.dev))} ${found.ino}`;
  },
  async room(folder) {
    const { bavail, bsize, files: all, ffree } = await statfs(folder);
    return { bytes: bavail * bsize, files: all > 0 ? ffree : undefined };
  },
  extend,
  startsAndEndsBlank,
};

/** The node that this process runs on, its programs run by `run`, except the rm(1) of {@link HostFiles.remove}. */
export function nodeHost(run: RunCommand = runCommand): NodeHost {
  return {
    run,
    files,
    holders: nodeHolders,
    turns,
    mounts: () => readMountTable(),
    processMounts,
    deviceNumber,
    hasFileSystem,
    async openDirectory(path) {
      const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
      const handle = await open(path, flags);
      try {
        return {
          device: formatDeviceNumber((await handle.stat()).dev),
          path: `/proc/${process.pid}/fd/${handle.fd}`,
          close: () => handle.close(),
        };
      } catch (error) {
        await handle.close();
        throw error;
      }
    },
    pause: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}),
  };
}

/** The node that this process runs on. */
export const thisNode: NodeHost = nodeHost();
