import {
  copyFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
} from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The mode of an open: `r` reads, `r+` reads and writes an existing file, `w` creates or truncates it and only
 * writes, `wx` does so and fails with EEXIST if the name exists.
 */
export type OpenMode = 'r' | 'r+' | 'w' | 'wx';

/** An open file. Positions and sizes are bytes. */
export interface OpenFile {
  /** Reads at most `length` bytes from `position`; fewer only at the end of the file. */
  read(position: number, length: number): Promise<Buffer>;
  /** Writes all of `bytes` at `position`. If it rejects, any part may have been written. */
  write(bytes: Buffer, position: number): Promise<void>;
  /** Resolves when content and size survive a power loss. The name is not covered. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** An entry of a directory. */
export interface DirectoryEntry {
  readonly name: string;
  readonly type: 'file' | 'directory';
}

/**
 * The file operations of the library: high-water mark, marks beside the database, backups, replaced databases. Tests
 * replace them with a simulated disk that loses, tears and refuses writes like a real one.
 *
 * Durability is that of POSIX: content is durable after `OpenFile.sync`; a name (created, renamed or removed) is
 * durable after `syncDirectory` of its directory. A rename is atomic. Errors have the system's `code` (ENOENT,
 * ENOSPC, EIO ...).
 */
export interface FileSystem {
  /**
   * Files are created with mode 0600.
   * @throws ENOENT, EEXIST and other system errors.
   */
  open(path: string, mode: OpenMode): Promise<OpenFile>;
  /** Reads the whole content of a file. */
  readFile(path: string): Promise<Buffer>;
  /**
   * Names in a directory, in any order.
   * @throws ENOENT
   */
  readDirectory(path: string): Promise<readonly DirectoryEntry[]>;
  /** Creates a directory with mode 0700, including its parents; no-op if it exists. */
  makeDirectory(path: string): Promise<void>;
  /** Moves a file or directory; a file at `to` is replaced atomically. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file, or a directory recursively; no-op if it does not exist. */
  remove(path: string): Promise<void>;
  /** Copies the content of a file; neither content nor name is durable afterwards. */
  copyFile(from: string, to: string): Promise<void>;
  /** Resolves when the names in a directory survive a power loss. */
  syncDirectory(path: string): Promise<void>;
  /** Whether a file or directory of this name exists. */
  exists(path: string): Promise<boolean>;
  /** Size of a file in bytes. @throws ENOENT */
  size(path: string): Promise<number>;
  /** Bytes that can still be written below a path; undefined if there is no such limit. */
  freeBytes(path: string): Promise<number | undefined>;
}

/** The code of a system error, such as ENOENT; undefined for any other error. */
export function systemErrorCode(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

/** The file system of the machine. */
export const nodeFileSystem: FileSystem = {
  async open(path, mode) {
    const handle = await open(path, mode, 0o600);
    return {
      async read(position, length) {
        const bytes = Buffer.alloc(length);
        let filled = 0;
        while (filled < length) {
          const { bytesRead } = await handle.read(
            bytes,
            filled,
            length - filled,
            position + filled,
          );
          if (bytesRead === 0) break;
          filled += bytesRead;
        }
        return bytes.subarray(0, filled);
      },
      async write(bytes, position) {
        let done = 0;
        while (done < bytes.length) {
          const left = bytes.length - done;
          done += (await handle.write(bytes, done, left, position + done)).bytesWritten;
        }
      },
      // Syncs only content and size: syncing the times of a file would cost a journal commit.
      sync: () => handle.datasync(),
      close: () => handle.close(),
    };
  },
  readFile: (path) => readFile(path),
  async readDirectory(path) {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.map((entry) => ({
      name: entry.name,
      type: entry.isDirectory() ? 'directory' : 'file',
    }));
  },
  async makeDirectory(path) {
    await mkdir(path, { recursive: true, mode: 0o700 });
  },
  rename: (from, to) => rename(from, to),
  remove: (path) => rm(path, { recursive: true, force: true }),
  copyFile: (from, to) => copyFile(from, to),
  async syncDirectory(path) {
    const handle = await open(path, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
  async exists(path) {
    try {
      await stat(path);
      return true;
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return false;
      throw error;
    }
  },
  size: async (path) => (await stat(path)).size,
  async freeBytes(path) {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  },
};

/**
 * LevelDB's lock. The kernel drops it when its process closes any handle of the file, so nothing here may open it. It
 * has no content.
 */
const lockName = 'LOCK';

/** Makes everything in a directory durable, recursively: contents and names, except LevelDB's file `LOCK`. */
export async function syncTree(files: FileSystem, directory: string): Promise<void> {
  for (const { name, type } of await files.readDirectory(directory)) {
    const path = join(directory, name);
    if (type === 'directory') {
      await syncTree(files, path);
      continue;
    }
    if (name === lockName) continue;
    const file = await files.open(path, 'r');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  }
  await files.syncDirectory(directory);
}

/** Copies a directory recursively, without LevelDB's file `LOCK`. The copy is durable, except its own name. */
export async function copyTree(files: FileSystem, from: string, to: string): Promise<void> {
  await copyUnsynced(files, from, to);
  await syncTree(files, to);
}

async function copyUnsynced(files: FileSystem, from: string, to: string): Promise<void> {
  await files.makeDirectory(to);
  for (const { name, type } of await files.readDirectory(from)) {
    if (type === 'directory') await copyUnsynced(files, join(from, name), join(to, name));
    else if (name !== lockName) await files.copyFile(join(from, name), join(to, name));
  }
}

/** Bytes of all files in a directory, recursively. */
export async function treeBytes(files: FileSystem, directory: string): Promise<number> {
  let bytes = 0;
  for (const { name, type } of await files.readDirectory(directory)) {
    const path = join(directory, name);
    bytes += type === 'directory' ? await treeBytes(files, path) : await files.size(path);
  }
  return bytes;
}
