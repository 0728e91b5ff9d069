import {
  copyFile,
  lchown,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { DeviceChange, Devices } from '../core/devices.js';

/** Copies a folder with links and owners. It starts no program, because tests make hundreds of copies. */
async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyFolder(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else await copyFile(source, target);
    const { uid, gid } = await lstat(source);
    await lchown(target, uid, gid);
  }
}

/**
 * Disks without devices: each is a directory below `folder` with its content as files. An instance sees a disk under
 * the provider's link, and only while the disk is attached to it.
 */
export class KeptDisks implements Devices {
  readonly #folder: string;
  readonly #sizes = new Map<string, number>();
  readonly #snapshots = new Set<string>();
  /** Ids of volumes by `INSTANCE LINK`. */
  readonly #links = new Map<string, string>();
  /** Number of changes in progress. The clock must not advance meanwhile. */
  busy = 0;
  /** Whether instances see the disks that are attached to them. */
  areSeen = true;

  constructor(folder: string) {
    this.#folder = folder;
  }

  #path(id: string): string {
    return join(this.#folder, id);
  }

  async apply(change: DeviceChange): Promise<void> {
    this.busy += 1;
    try {
      await this.#apply(change);
    } finally {
      this.busy -= 1;
    }
  }

  async #apply(change: DeviceChange): Promise<void> {
    switch (change.type) {
      case 'created':
        this.#sizes.set(change.volume, change.sizeBytes);
        return change.from === undefined
          ? void (await mkdir(this.#path(change.volume)))
          : this.#copy(change.from, change.volume);
      case 'deleted':
        this.#sizes.delete(change.volume);
        return rm(this.#path(change.volume), { recursive: true });
      case 'resized':
        this.#sizes.set(change.volume, change.sizeBytes);
        return undefined;
      case 'attached':
        this.#links.set(`${change.instance} ${change.link}`, change.volume);
        return undefined;
      case 'detached':
        this.#links.delete(`${change.instance} ${change.link}`);
        return undefined;
      case 'snapshotted':
        this.#snapshots.add(change.snapshot);
        return this.#copy(change.volume, change.snapshot);
      case 'snapshotDeleted':
        this.#snapshots.delete(change.snapshot);
        return rm(this.#path(change.snapshot), { recursive: true });
    }
  }

  #copy(from: string, to: string): Promise<void> {
    return copyFolder(this.#path(from), this.#path(to));
  }

  inventory(): Promise<readonly string[]> {
    return Promise.resolve([
      ...[...this.#sizes].map(([id]) => `disk ${id}`),
      ...[...this.#snapshots].map((id) => `disk of snapshot ${id}`),
      ...[...this.#links.keys()].map((link) => `link ${link}`),
    ]);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Returns the id of the disk that an instance sees under a link; undefined if there is none. */
  linked(instance: string, link: string): string | undefined {
    return this.areSeen ? this.#links.get(`${instance} ${link}`) : undefined;
  }

  /** The sizes of all disks, bytes. */
  get sizes(): readonly number[] {
    return [...this.#sizes.values()];
  }

  /** Returns the size of a disk in bytes; 0 for an unknown one. */
  sizeOf(id: string): number {
    return this.#sizes.get(id) ?? 0;
  }

  /** Returns the directory with the content of a disk. @throws Error if the instance does not see it */
  contentAt(instance: string, link: string): string {
    const id = this.linked(instance, link);
    if (id === undefined) throw new Error(`${instance} has no disk ${link}`);
    return this.#path(id);
  }

  async write(instance: string, link: string, text: string): Promise<void> {
    await writeFile(join(this.contentAt(instance, link), 'text'), text);
  }

  async read(instance: string, link: string): Promise<string> {
    return readFile(join(this.contentAt(instance, link), 'text'), 'utf8');
  }
}
