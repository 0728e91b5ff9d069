import type { Holders } from './holders.js';
import type { KeyedQueue } from '../turns/keyed-queue.js';
import type { MountEntry } from './mount-table.js';
import type { ProcessMounts } from './process-mounts.js';
import type { RunCommand } from './run-command.js';

/** The type of a path; symbolic links are not followed. */
export type FileKind = 'absent' | 'directory' | 'file' | 'link' | 'blockDevice' | 'other';

/** An open directory, which stays the same if it is unmounted or moved. */
export interface OpenedDirectory {
  /** Number of its device, as in the mount table. */
  readonly device: string;
  /** A path to the directory until it is closed, for programs of the same user and of root. */
  readonly path: string;
  close(): Promise<void>;
}

/** Free space of a disk. */
export interface DiskRoom {
  readonly bytes: number;
  /** Free inodes; undefined if the file system does not limit them. */
  readonly files: number | undefined;
}

/** Files and folders of a node. Errors are those of the file system, with their code, unless a method says otherwise. */
export interface HostFiles {
  kindAt(path: string): Promise<FileKind>;
  /** The path with links resolved; undefined if it does not exist. */
  realPath(path: string): Promise<string | undefined>;
  /** Succeeds if the path exists, even as a file. Its parents are created only if `parents` is true. */
  makeFolder(
    path: string,
    options: { readonly mode: number; readonly parents?: boolean },
  ): Promise<void>;
  /** Creates a folder for this process alone in the folder for temporary files. */
  makeTemporaryFolder(prefix: string): Promise<string>;
  /** Removes an empty folder. */
  removeFolder(path: string): Promise<void>;
  /** Names in a folder. */
  list(folder: string): Promise<readonly string[]>;
  rename(from: string, to: string): Promise<void>;
  /**
   * Removes a file, or a folder with its content; succeeds if it does not exist.
   * @throws DriverError if a folder can't be removed
   */
  remove(path: string): Promise<void>;
  /** Makes names that were created, renamed or removed in a folder durable. */
  syncFolder(path: string): Promise<void>;
  size(path: string): Promise<bigint>;
  /** Device number and inode, which distinguish a file from its replacement; undefined if it is absent. */
  identity(path: string): Promise<string | undefined>;
  /** Free bytes and inodes on the disk of a folder. */
  room(folder: string): Promise<DiskRoom>;
  /** Creates a missing file, and extends a shorter one. Its size is durable, a new name only after {@link syncFolder}. */
  extend(path: string, bytes: number): Promise<void>;
  /** Whether head and tail of a device contain only zeros. @throws Error if they can't be read */
  startsAndEndsBlank(device: string, sizeBytes: bigint): Promise<boolean>;
}

/**
 * A node as drivers and agent use it: child processes, the mount table, freezes and files. Each call is one
 * step. Tests replace the node to kill a process before or after any step.
 */
export interface NodeHost {
  /** Runs a program. Freezing, loop devices and mounting are done by programs. */
  readonly run: RunCommand;
  readonly files: HostFiles;
  /** Finds what uses a volume: processes, mounts, devices of the kernel and swap. */
  readonly holders: Holders;
  /** The work queue of this process: serializes work per key. */
  readonly turns: KeyedQueue;
  /** The mounts of this process; the last one at a path is on top. */
  mounts(): Promise<readonly MountEntry[]>;
  /** The mounts of all mount namespaces, that of this process first. */
  processMounts(): AsyncIterable<ProcessMounts>;
  /** `major:minor` of a device, as in the mount table. @throws Error ENOENT for a device that does not exist */
  deviceNumber(device: string): Promise<string>;
  /** Whether an ext4 or xfs file system of a device or its partitions is in use, in any mount namespace. */
  hasFileSystem(device: string): Promise<boolean>;
  /** Opens a directory without following a link. */
  openDirectory(path: string): Promise<OpenedDirectory>;
  /** Waits `ms` milliseconds. @throws Error if `signal` is aborted before */
  pause(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The mount at exactly this path: the last one, if several are stacked; undefined if there is none. */
export async function mountOn(host: NodeHost, target: string): Promise<MountEntry | undefined> {
  return (await host.mounts()).filter((entry) => entry.target === target).at(-1);
}

/** Whether the device of a mount is still there. Its name may belong to another one by now. */
export async function hasDevice(
  host: Pick<NodeHost, 'deviceNumber'>,
  { source, device }: Pick<MountEntry, 'source' | 'device'>,
): Promise<boolean> {
  const number = await host.deviceNumber(source).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return number === device;
}

/** Whether an error of the file system means that its disk, or the quota of its user, is full. */
export function isDiskFull(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** Whether an error means that a file does not exist. */
export function isAbsence(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ENOENT' || code === 'ENOTDIR';
}
