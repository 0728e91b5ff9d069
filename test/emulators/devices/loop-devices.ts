import { execFile } from 'node:child_process';
import {
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  truncate,
} from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock, Timer } from 'kedge';
import type { DeviceChange, Devices } from '../core/devices.js';
import { attachLoop, detachLoop, loopedFiles, loopOf, losetup } from '../../drivers/loop-table.js';

const run = promisify(execFile);

/** The behaviour of the by-id link of an attached volume. */
export type LinkMode =
  /** It exists before the provider reports the volume as attached. */
  | { readonly type: 'prompt' }
  /** It is created this time after the attachment. */
  | { readonly type: 'late'; readonly ms: number }
  /** It leads to the device of the volume `of`, or to a small disk that belongs to no volume: blank, or with ext4. */
  | { readonly type: 'wrong'; readonly of?: string; readonly content?: 'blank' | 'ext4' }
  | { readonly type: 'never' };

export interface LoopDevicesOptions {
  /** Holds the images: `volumes/ID`, `snapshots/ID`. */
  readonly directory: string;
  /** The folder of the by-id links of an instance; undefined for an instance on another machine. */
  readonly deviceDirectory: (instance: string) => string | undefined;
  readonly clock: Clock;
}

interface Shown {
  readonly volume: string;
  readonly path: string;
}

const decoyBytes = 8 * 2 ** 20;

/**
 * Disks of an emulator that are real block devices of this machine: a volume is a sparse file, and an attached
 * one has a loop device with a by-id link. Needs root on Linux.
 */
export class LoopDevices implements Devices {
  readonly #options: LoopDevicesOptions;
  readonly #shown = new Map<string, Shown>();
  readonly #timers = new Set<Timer>();
  #mode: LinkMode = { type: 'prompt' };
  #staleLinks = false;

  constructor(options: LoopDevicesOptions) {
    this.#options = options;
  }

  /** Sets the behaviour of the links of volumes that are attached later. */
  setLinks(mode: LinkMode): void {
    this.#mode = mode;
  }

  /**
   * Sets whether links stay when volumes are detached later. A kept link leads to a free loop device or to that of
   * another volume.
   */
  keepStaleLinks(keep: boolean): void {
    this.#staleLinks = keep;
  }

  /** Creates the correct links of all attached volumes, like an operator. */
  async heal(): Promise<void> {
    for (const { volume, path } of this.#shown.values()) await this.#link(volume, path);
  }

  /** The image of a volume. */
  image(volume: string): string {
    return join(this.#options.directory, 'volumes', volume);
  }

  async apply(change: DeviceChange): Promise<void> {
    switch (change.type) {
      case 'created':
        return this.#create(change.volume, change.sizeBytes, change.from);
      case 'deleted':
        return rm(this.image(change.volume), { force: true });
      case 'resized':
        return this.#resize(change.volume, change.sizeBytes);
      case 'attached':
        return this.#attach(change.volume, this.#pathOf(change));
      case 'detached':
        return this.#detach(change.volume, this.#pathOf(change));
      case 'snapshotted':
        return copy(this.image(change.volume), this.#snapshot(change.snapshot));
      case 'snapshotDeleted':
        return rm(this.#snapshot(change.snapshot), { force: true });
    }
  }

  /** Images, snapshots, loop devices and links. */
  async inventory(): Promise<readonly string[]> {
    const { directory } = this.#options;
    const images = async (kind: string): Promise<readonly string[]> =>
      (await names(join(directory, `${kind}s`))).map((name) => `image of ${kind} ${name}`);
    const loops = await loopedFiles(await realpath(directory).catch(() => directory));
    const links = [...this.#shown.values()].map(({ path }) => path);
    const present = await Promise.all(
      links.map((path) =>
        readlink(path).then(
          () => [`link ${basename(path)}`],
          () => [],
        ),
      ),
    );
    return [
      ...(await images('volume')),
      ...(await images('snapshot')),
      ...loops.map((file) => `device of ${basename(file)}`),
      ...present.flat(),
    ];
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #snapshot(id: string): string {
    return join(this.#options.directory, 'snapshots', id);
  }

  #pathOf(change: { readonly instance: string; readonly link: string }): string | undefined {
    const folder = this.#options.deviceDirectory(change.instance);
    return folder === undefined ? undefined : join(folder, change.link);
  }

  async #create(volume: string, sizeBytes: number, from: string | undefined): Promise<void> {
    const image = this.image(volume);
    if (from === undefined) return sparse(image, sizeBytes);
    await copy(this.#snapshot(from), image);
    // Some providers restore to a larger size at once.
    return truncate(image, sizeBytes);
  }

  async #resize(volume: string, sizeBytes: number): Promise<void> {
    const image = this.image(volume);
    await truncate(image, sizeBytes);
    const device = await loopOf(image);
    if (device !== undefined) await losetup('--set-capacity', device);
  }

  async #attach(volume: string, path: string | undefined): Promise<void> {
    if (path === undefined) return;
    await attachLoop(this.image(volume));
    this.#shown.set(volume, { volume, path });
    const mode = this.#mode;
    switch (mode.type) {
      case 'prompt':
        return this.#link(volume, path);
      case 'late':
        return this.#later(mode.ms, () => this.#link(volume, path));
      case 'wrong':
        return this.#linkWrong(mode, path);
      case 'never':
        return undefined;
    }
  }

  /** The path of a disk with this content that belongs to no volume. */
  decoy(content: 'blank' | 'ext4'): string {
    return join(this.#options.directory, `decoy-${content}`);
  }

  async #linkWrong(
    { of, content = 'blank' }: Extract<LinkMode, { type: 'wrong' }>,
    path: string,
  ): Promise<void> {
    if (of !== undefined) return this.#link(of, path);
    const decoy = this.decoy(content);
    if (!(await stat(decoy).catch(() => undefined))) {
      await sparse(decoy, decoyBytes);
      if (content === 'ext4') await run('mkfs.ext4', ['-q', '-F', decoy]);
    }
    return replaceLink(await attachLoop(decoy), path);
  }

  async #link(volume: string, path: string): Promise<void> {
    const device = await loopOf(this.image(volume));
    if (device !== undefined) await replaceLink(device, path);
  }

  async #later(ms: number, work: () => Promise<void>): Promise<void> {
    const timer = this.#options.clock.setTimer(() => {
      this.#timers.delete(timer);
      work().catch((error: unknown) => console.error(error));
    }, ms);
    this.#timers.add(timer);
  }

  async #detach(volume: string, path: string | undefined): Promise<void> {
    if (path === undefined) return;
    this.#shown.delete(volume);
    if (!this.#staleLinks) await rm(path, { force: true });
    await detachLoop(this.image(volume));
  }
}

async function names(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}

async function sparse(path: string, sizeBytes: number): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true, mode: 0o700 });
  const file = await open(path, 'a', 0o600);
  await file.truncate(sizeBytes);
  await file.close();
}

/** Copies a file, including data that the kernel has not written yet. A kill leaves no partial copy at `to`. */
async function copy(from: string, to: string): Promise<void> {
  await mkdir(join(to, '..'), { recursive: true, mode: 0o700 });
  const draft = `${to}.draft`;
  const device = await loopOf(from);
  if (device !== undefined) await run('blockdev', ['--flushbufs', device]);
  await run('cp', ['--sparse=always', '--reflink=auto', from, draft]);
  await rename(draft, to);
}

/** Creates or replaces a link atomically, like udev. */
async function replaceLink(device: string, path: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true });
  const draft = `${path}.new`;
  await rm(draft, { force: true });
  await symlink(device, draft);
  await rename(draft, path);
}
