import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  rename,
  rm,
  statfs,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeDirectory } from '@kedge/driver-sdk';
import {
  ownerFile,
  ownerOf,
  removeUnusedFolder,
  sweepAbandonedDataFiles,
} from './abandoned-data-files.js';

/** In-memory file systems: the types tmpfs and ramfs of statfs(2). */
const inMemory: readonly number[] = [0x01021994, 0x858458f6];
/**
 * Modes of the directories and files of a set. Its workload may run as any user. Other users of the node can't reach
 * them: the directories above the set are open to the user of kedged alone.
 */
const modes = { directory: 0o755, file: 0o444 };
/** The symbolic link that switches all files of a version atomically. */
const current = '..data';

/** The path of the directory in which the daemon with this data directory keeps in-memory files. */
export function dataFilesDirectory(dataDirectory: string): string {
  const id = createHash('sha256').update(dataDirectory).digest('hex').slice(0, 16);
  return join('/dev/shm', `kedge-${id}`);
}

/**
 * In-memory directories of small files for workloads. They keep secret values off the disk, except for swap. A
 * symbolic link switches all files of a set at once, as in Kubernetes.
 */
export class DataFiles {
  readonly #directory: string;
  readonly #dataDirectory: string;

  /**
   * @param directory created by {@link open}, readable only by the daemon's user
   * @param dataDirectory owner of the files. Once it is deleted, the next start of another daemon of the same user and
   * mount namespace removes the files that no process has mounted.
   */
  constructor(directory: string, dataDirectory: string) {
    this.#directory = directory;
    this.#dataDirectory = dataDirectory;
  }

  get directory(): string {
    return this.#directory;
  }

  /** The directory of the file system that has the files. Other programs may use it too. */
  get fileSystem(): string {
    return dirname(this.#directory);
  }

  /**
   * Creates the directory if it is missing, and records its owner.
   * @throws Error if it is not a directory, not in memory, or owned by or accessible to another user
   */
  async open(): Promise<void> {
    await mkdir(this.#directory, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    const found = await lstat(this.#directory);
    const ours = found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
    if (!found.isDirectory() || !ours)
      throw new Error(
        `${this.#directory} is not a directory owned by the user of kedged with mode 0700; remove it`,
      );
    const { type } = await statfs(this.#directory);
    if (!inMemory.includes(type))
      throw new Error(`${this.#directory} is not in memory; mount a tmpfs at ${this.fileSystem}`);
    const owner = JSON.stringify(await ownerOf(this.#dataDirectory));
    await writeFile(join(this.#directory, ownerFile), owner, { mode: 0o600 });
  }

  /**
   * Removes the files of daemons of the same user and mount namespace whose data directory was deleted, unless a process
   * has them mounted. @returns the removed folders
   */
  sweep(): Promise<readonly string[]> {
    return sweepAbandonedDataFiles(this.#directory);
  }

  /** The directory of a set of files. */
  at(owner: string, set: string): string {
    return join(this.#directory, owner, set);
  }

  /**
   * Replaces the files of a set, and creates its directory if it is missing. The contents change atomically; afterwards
   * names at the top of the set are added and removed one by one.
   * @param files the contents by relative path
   */
  async write(owner: string, set: string, files: ReadonlyMap<string, string>): Promise<void> {
    const directory = this.at(owner, set);
    // A link or file in place of a directory is removed: it must not redirect or block the write.
    for (const each of [dirname(directory), directory])
      if (!(await isPlainDirectory(each))) await rm(each, { force: true });
    await makeDirectory(directory, 0o700);
    await this.#replace(directory, files);
  }

  /**
   * Replaces the files of a set that a workload has mounted. The directory is not created again, because the workload
   * would not see it, also if another program removes it during the call.
   * @param files the contents by relative path
   * @returns `absent` if the directory does not exist
   */
  async rewrite(
    owner: string,
    set: string,
    files: ReadonlyMap<string, string>,
  ): Promise<'written' | 'absent'> {
    const directory = this.at(owner, set);
    if (!(await isPlainDirectory(directory))) return 'absent';
    try {
      await this.#replace(directory, files);
      return 'written';
    } catch (error) {
      if (!(await isPlainDirectory(directory))) return 'absent';
      throw error;
    }
  }

  async #replace(directory: string, files: ReadonlyMap<string, string>): Promise<void> {
    const version = await mkdtemp(join(directory, '..version-'));
    try {
      for (const [path, content] of files) {
        const file = join(version, path);
        await makeFolders(version, dirname(path));
        await writeFile(file, content, { mode: 0o400, flag: 'wx' });
        // The umask of the daemon does not apply to chmod.
        await chmod(file, modes.file);
        for (let above = dirname(file); above !== directory; above = dirname(above))
          await chmod(above, modes.directory);
      }
      for (const each of [version, directory]) await chmod(each, modes.directory);
      const link = join(directory, `${current}.new`);
      await rm(link, { recursive: true, force: true });
      await symlink(basename(version), link);
      const before = join(directory, current);
      if (await isPlainDirectory(before)) await rm(before, { recursive: true });
      await rename(link, before);
    } catch (error) {
      // Otherwise each failed attempt would occupy memory.
      await rm(version, { recursive: true, force: true });
      throw error;
    }
    await this.#link(directory, new Set([...files.keys()].map((path) => path.split('/')[0] ?? '')));
    await this.#drop(directory, basename(version));
  }

  /** Creates the visible names, which are symbolic links through the current version, and removes obsolete ones. */
  async #link(directory: string, names: ReadonlySet<string>): Promise<void> {
    const there = new Set(await readdir(directory));
    for (const name of names) {
      const path = join(directory, name);
      if (there.has(name)) {
        if ((await linkAt(path)) === join(current, name)) continue;
        await rm(path, { recursive: true });
      }
      await symlink(join(current, name), path);
    }
    for (const name of there)
      if (!name.startsWith('..') && !names.has(name))
        await rm(join(directory, name), { recursive: true });
  }

  async #drop(directory: string, kept: string): Promise<void> {
    for (const name of await readdir(directory)) {
      if (name.startsWith('..version-') && name !== kept)
        await rm(join(directory, name), { recursive: true, force: true });
    }
  }

  /**
   * Returns how much of a set exists; contents are not compared. Other programs of the user, and root, may have removed
   * files, for example at the end of a login session.
   * @param paths the relative paths of its files
   * @returns `incomplete` if a file is missing or a link points elsewhere; `absent` without the directory of the set. A
   * workload that mounted a removed directory does not see one that replaces it.
   */
  async remainsOf(
    owner: string,
    set: string,
    paths: readonly string[],
  ): Promise<'whole' | 'incomplete' | 'absent'> {
    const directory = this.at(owner, set);
    if (!(await isPlainDirectory(directory))) return 'absent';
    const version = await linkAt(join(directory, current));
    if (version === undefined || !/^\.\.version-[^/]+$/.test(version)) return 'incomplete';
    if (!(await isPlainDirectory(join(directory, version)))) return 'incomplete';
    for (const path of paths) {
      const [name = ''] = path.split('/');
      const link = await linkAt(join(directory, name));
      const file = await lstatOf(join(directory, version, path));
      if (link !== join(current, name) || !file?.isFile()) return 'incomplete';
    }
    return 'whole';
  }

  /** Uids of the instances that have a directory. */
  async owners(): Promise<readonly string[]> {
    return (await readdir(this.#directory)).filter((name) => name !== ownerFile);
  }

  /** Removes all files of an owner. */
  async remove(owner: string): Promise<void> {
    await rm(join(this.#directory, owner), { recursive: true, force: true });
  }

  /** Removes the directory if no owner has files in it. */
  async close(): Promise<void> {
    await removeUnusedFolder(this.#directory);
  }
}

/** Creates the missing folders of a relative path below a directory, but not the directory. */
async function makeFolders(directory: string, path: string): Promise<void> {
  if (path === '.') return;
  await makeFolders(directory, dirname(path));
  await mkdir(join(directory, path), { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

async function isPlainDirectory(path: string): Promise<boolean> {
  return (await lstatOf(path))?.isDirectory() === true;
}

/** Where the link at a path leads; undefined if it does not exist or is no link. */
async function linkAt(path: string): Promise<string | undefined> {
  return readlink(path).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR', 'EINVAL'].includes(error.code ?? '')) return undefined;
    throw error;
  });
}

/** The status of a path without following a link at its end; undefined if it does not exist. */
async function lstatOf(path: string): Promise<Stats | undefined> {
  return lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
}
