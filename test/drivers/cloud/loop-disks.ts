import { mkdir, open, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { attachLoop, detachLoops, nodeHost, requireCommand, runCommand } from '@kedge/driver-sdk';

const host = nodeHost();
const { signal } = new AbortController();

/** Disks of a played provider: sparse files, which appear on this machine as loop devices with a link. */
export class LoopDisks {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The directory of a machine's links. */
  links(machine: string): string {
    return join(this.#folder, 'by-id', machine);
  }

  #image(id: string): string {
    return join(this.#folder, 'images', id);
  }

  async create(id: string, bytes: number): Promise<void> {
    await mkdir(join(this.#folder, 'images'), { recursive: true });
    const file = await open(this.#image(id), 'a+', 0o600);
    await file.truncate(bytes);
    await file.close();
  }

  async copy(from: string, to: string): Promise<void> {
    const [source, target] = [this.#image(from), this.#image(to)];
    const args = ['--sparse=always', '--reflink=auto', source, `${target}.draft`];
    await requireCommand(runCommand, 'cp', args, signal);
    await rename(`${target}.draft`, target);
  }

  async remove(id: string): Promise<void> {
    await rm(this.#image(id), { force: true });
  }

  async grow(id: string, bytes: number, attached: string | undefined): Promise<void> {
    await this.create(id, bytes);
    if (attached === undefined) return;
    await requireCommand(runCommand, 'losetup', ['-c', attached], signal);
  }

  /** Returns the device. */
  async attach(id: string, machine: string, link: string): Promise<string> {
    const device = await attachLoop(host, this.#image(id), signal);
    await mkdir(this.links(machine), { recursive: true });
    const path = join(this.links(machine), link);
    await symlink(device, `${path}.new`);
    await rename(`${path}.new`, path);
    return device;
  }

  async detach(id: string, machine: string, link: string): Promise<void> {
    await rm(join(this.links(machine), link), { force: true });
    await detachLoops(host, this.#image(id), signal);
  }
}
