import { dirname } from 'node:path';
import type { FileKind } from '@kedge/driver-sdk';
import type { RootState } from './machine.js';

/** A file of the node; one with a file system is an image. */
export interface FakeFile {
  readonly type: 'file';
  bytes: number;
  /** False while a copy into it is in progress, or permanently if that was killed. */
  whole: boolean;
  system: { first: number; second: number; bytes: number } | undefined;
}

type Entry = FakeFile | { readonly type: 'folder' };

interface Loop {
  readonly path: string;
  readonly file: FakeFile;
}

interface Mount {
  readonly device: string;
  readonly target: string;
}

/** An error of the file system. */
export function fileError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

/** Storage root of the fake node. */
export const rootPath = '/disk';

/**
 * The kernel of a node in memory: files, loop devices, mounts and frozen file systems. It survives daemons and
 * records forbidden operations.
 */
export class FakeKernel {
  /** Operations that would have damaged data or broken a rule; must stay empty. */
  readonly wrongs: string[] = [];
  readonly loops = new Map<string, Loop>();
  readonly mounts: Mount[] = [];
  /** Devices whose file systems are frozen. */
  readonly frozen = new Set<string>();
  /** Targets in which a workload has open files. */
  readonly users = new Set<string>();
  root: RootState = 'here';
  readonly #inodes = new Map<FakeFile, number>();
  readonly #entries = new Map<string, Entry>([
    ['/', { type: 'folder' }],
    [rootPath, { type: 'folder' }],
    ['/tmp', { type: 'folder' }],
  ]);
  #temporary = 0;

  /** The disk is unmounted: the content of its mount point is not visible. */
  #hidden(path: string): boolean {
    return this.root === 'unmounted' && path.startsWith(`${rootPath}/`);
  }

  #at(path: string): Entry | undefined {
    return this.#hidden(path) ? undefined : this.#entries.get(path);
  }

  #put(path: string, entry: Entry): void {
    if (this.#hidden(path)) this.wrongs.push(`${path} was made below the mount point of a disk`);
    if (this.#at(dirname(path))?.type !== 'folder') throw fileError('ENOENT', path);
    this.#entries.set(path, entry);
  }

  kindAt(path: string): FileKind {
    if (this.loops.has(path)) return 'blockDevice';
    const entry = this.#at(path);
    return entry === undefined ? 'absent' : entry.type === 'folder' ? 'directory' : 'file';
  }

  /** @throws Error ENOENT */
  file(path: string): FakeFile {
    const entry = this.#at(path);
    if (entry?.type !== 'file') throw fileError('ENOENT', path);
    return entry;
  }

  /** A file on the disk of the storage root, mounted or not. */
  stored(path: string): FakeFile | undefined {
    const entry = this.#entries.get(path);
    return entry?.type === 'file' ? entry : undefined;
  }

  /** Files on the disk of the storage root, mounted or not. */
  storedPaths(): readonly string[] {
    const all = [...this.#entries].filter(([, { type }]) => type === 'file');
    return all.map(([path]) => path).filter((path) => path.startsWith(`${rootPath}/`));
  }

  makeFile(path: string): FakeFile {
    const entry = this.#at(path);
    if (entry?.type === 'file') return entry;
    const file: FakeFile = { type: 'file', bytes: 0, whole: true, system: undefined };
    this.#put(path, file);
    return file;
  }

  makeFolder(path: string, parents: boolean): void {
    if (this.#at(path)?.type === 'folder') return;
    if (parents) this.makeFolder(dirname(path), true);
    this.#put(path, { type: 'folder' });
  }

  makeTemporaryFolder(prefix: string): string {
    const path = `/tmp/${prefix}${(this.#temporary += 1)}`;
    this.makeFolder(path, false);
    return path;
  }

  list(folder: string): readonly string[] {
    if (this.#at(folder)?.type !== 'folder') throw fileError('ENOENT', folder);
    if (this.#hidden(`${folder}/`)) return [];
    const start = `${folder}/`;
    const below = [...this.#entries.keys()].filter((path) => path.startsWith(start));
    return below.map((path) => path.slice(start.length)).filter((name) => !name.includes('/'));
  }

  rename(from: string, to: string): void {
    const entry = this.#at(from);
    if (!entry) throw fileError('ENOENT', from);
    this.#put(to, entry);
    this.#entries.delete(from);
  }

  remove(path: string): void {
    if (!this.#at(path)) return;
    for (const name of this.#entries.keys())
      if (name === path || name.startsWith(`${path}/`)) this.#entries.delete(name);
  }

  removeFolder(path: string): void {
    if (!this.#at(path)) throw fileError('ENOENT', path);
    if (this.mountedAt(path) || this.list(path).length > 0) throw fileError('EBUSY', path);
    this.remove(path);
  }

  /** As `HostFiles.identity`. */
  identityOf(file: FakeFile): string {
    let inode = this.#inodes.get(file);
    if (inode === undefined) this.#inodes.set(file, (inode = this.#inodes.size + 1));
    return `254:0 ${inode}`;
  }

  /** Number of a loop device. @throws Error ENOENT */
  numberOf(device: string): string {
    if (!this.loops.has(device)) throw fileError('ENOENT', device);
    return `7:${device.slice('/dev/loop'.length)}`;
  }

  mountedAt(target: string): Mount | undefined {
    return this.mounts.filter((mount) => mount.target === target).at(-1);
  }

  /** A file system exists as long as it is mounted or frozen. */
  isAlive(device: string): boolean {
    return this.frozen.has(device) || this.mounts.some((mount) => mount.device === device);
  }

  /** Loop devices over the file at a path. */
  loopsOver(path: string): readonly string[] {
    const entry = this.#at(path);
    return [...this.loops].filter(([, { file }]) => file === entry).map(([device]) => device);
  }

  /** Whether the file of a loop device is no longer at its path. */
  isRemoved({ path, file }: Loop): boolean {
    return this.#entries.get(path) !== file;
  }

  attach(path: string): string {
    const file = this.file(path);
    if (this.loopsOver(path).length > 0) this.wrongs.push(`${path} got a second loop device`);
    let n = 0;
    while (this.loops.has(`/dev/loop${n}`)) n += 1;
    this.loops.set(`/dev/loop${n}`, { path, file });
    return `/dev/loop${n}`;
  }

  detach(device: string): void {
    if (this.isAlive(device)) this.wrongs.push(`${device} was detached with a living file system`);
    this.loops.delete(device);
  }

  mount(device: string, target: string): void {
    const loop = this.loops.get(device);
    if (!loop?.file.system) throw new Error(`${device} has no file system`);
    if (!loop.file.whole) this.wrongs.push(`${loop.path} was mounted, and is half a copy`);
    const other = this.mounts.find(
      (mount) => mount.device === device && !isTemporary(mount.target),
    );
    if (other && !isTemporary(target))
      this.wrongs.push(`${device} is mounted at ${other.target} and at ${target}`);
    this.mounts.push({ device, target });
  }

  unmount(target: string): void {
    const mount = this.mountedAt(target);
    if (mount) this.mounts.splice(this.mounts.lastIndexOf(mount), 1);
  }

  /**
   * One step of a workload that writes below a target. Returns `hangs` for a frozen file system, `lost` without a
   * mount.
   */
  write(target: string): 'written' | 'begun' | 'hangs' | 'lost' {
    const mount = this.mountedAt(target);
    const system = mount && this.loops.get(mount.device)?.file.system;
    if (!mount || !system) return 'lost';
    if (this.frozen.has(mount.device)) return 'hangs';
    if (system.first === system.second) {
      system.first += 1;
      return 'begun';
    }
    system.second = system.first;
    return 'written';
  }
}

function isTemporary(target: string): boolean {
  return target.startsWith('/tmp/');
}
