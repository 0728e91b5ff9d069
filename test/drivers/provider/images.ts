import { mkdir, open, readlink, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  attachLoop,
  detachLoops,
  loopsOf,
  requireCommand,
  runCommand,
  thisNode,
} from '@kedge/driver-sdk';

/** Path of the by-id link of a disk, as created by a provider's udev rule. */
export function linkOf(folder: string, uid: string): string {
  return join(folder, 'by-id', `loop-cloud-${uid}`);
}

/** Real image files and loop devices. Each call can be repeated after a kill during it. */
export class Images {
  readonly #folder: string;
  readonly #signal = new AbortController().signal;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The image of a disk or snapshot, by the provider's id. */
  path(id: string): string {
    return join(this.#folder, 'images', id);
  }

  async make(id: string, bytes: number): Promise<void> {
    await mkdir(dirname(this.path(id)), { recursive: true });
    const file = await open(this.path(id), 'a+', 0o600);
    if ((await file.stat()).size < bytes) await file.truncate(bytes);
    await file.close();
  }

  async copy(from: string, to: string): Promise<void> {
    const draft = `${this.path(to)}.draft`;
    const args = ['--sparse=always', '--reflink=auto', this.path(from), draft];
    await requireCommand(runCommand, 'cp', args, this.#signal);
    await rename(draft, this.path(to));
  }

  async remove(id: string): Promise<void> {
    await rm(this.path(id), { force: true });
  }

  async #loops(id: string): Promise<readonly string[]> {
    return loopsOf(thisNode, this.path(id), this.#signal);
  }

  async attach(id: string, uid: string): Promise<void> {
    const device = await attachLoop(thisNode, this.path(id), this.#signal);
    const link = linkOf(this.#folder, uid);
    await mkdir(dirname(link), { recursive: true });
    await rm(`${link}.new`, { force: true });
    await symlink(device, `${link}.new`);
    await rename(`${link}.new`, link);
  }

  async detach(id: string, uid: string): Promise<void> {
    await rm(linkOf(this.#folder, uid), { force: true });
    await detachLoops(thisNode, this.path(id), this.#signal);
  }

  /** Updates the size of the loop device after its image has grown. */
  async grown(id: string): Promise<void> {
    for (const device of await this.#loops(id))
      await requireCommand(runCommand, 'losetup', ['-c', device], this.#signal);
  }
}

/** The device of an attached disk; undefined if it is not attached. */
export async function deviceOf(folder: string, uid: string): Promise<string | undefined> {
  return readlink(linkOf(folder, uid)).catch(() => undefined);
}
