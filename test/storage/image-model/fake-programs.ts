import type { CommandResult } from '@kedge/driver-sdk';
import type { FakeFile, FakeKernel } from './fake-kernel.js';

/**
 * The way in which the effects of a program happen: one after another, by a process that may die before or
 * after each.
 */
export type Step = <T>(name: string, effect: () => T) => Promise<T>;

const blockBytes = 4096;
/** A copy takes long enough for a volume to be attached, mounted and written to. */
const copyPieces = 40;
/** Exit code of a copying process that could not thaw the file system. */
const thawFailed = 97;

function done(stdout = ''): CommandResult {
  return { exitCode: 0, stdout, stderr: '' };
}

function failed(stderr: string, exitCode = 1): CommandResult {
  return { exitCode, stdout: '', stderr };
}

/** A directory that is held open. */
export interface HeldDirectory {
  readonly target: string;
  /** The mounted loop device; undefined if there is none. */
  readonly device: string | undefined;
}

/** Programs of the fake node, as called by drivers. */
export class FakePrograms {
  readonly #kernel: FakeKernel;
  readonly #opened: ReadonlyMap<string, HeldDirectory>;

  constructor(kernel: FakeKernel, opened: ReadonlyMap<string, HeldDirectory>) {
    this.#kernel = kernel;
    this.#opened = opened;
  }

  /**
   * @param onFrozen called with the file system that the program froze and will thaw
   * @throws Error for a program or form of call that no driver used at the time of writing
   */
  async run(
    command: string,
    args: readonly string[],
    step: Step,
    onFrozen: (device: string) => void,
  ): Promise<CommandResult> {
    if (command === 'sh' && args[2] === 'frozen-copy')
      return this.#frozenCopy(args, step, onFrozen);
    const copy = args.indexOf('cp');
    if (command === 'setpriv' && copy >= 0) return this.#copy(args, step);
    const option = args.find((arg) => arg.startsWith('-')) ?? '';
    return step(`${command} ${option}`.trim(), () => this.#at(command, args));
  }

  #at(command: string, args: readonly string[]): CommandResult {
    const kernel = this.#kernel;
    const last = args.at(-1) ?? '';
    switch (command) {
      case 'sh':
      case 'sync':
        return done();
      case 'mkfs.ext4': {
        const file = kernel.file(last);
        file.system = { first: 0, second: 0, bytes: file.bytes };
        return done();
      }
      case 'losetup':
        return this.#losetup(args);
      case 'blockdev':
        if (args.includes('--getro')) return done('0\n');
        return done(`${kernel.loops.get(last)?.file.bytes ?? 0}\n`);
      case 'blkid':
        if (!this.#systemAt(last)) return failed('', 2);
        return done(args.includes('value') ? 'ext4\n' : 'TYPE=ext4\n');
      case 'e2fsck':
        if (kernel.isAlive(last)) kernel.wrongs.push(`${last} was checked while it was mounted`);
        return kernel.loops.get(last)?.file.whole === true ? done() : failed('it is damaged', 8);
      case 'dumpe2fs': {
        const bytes = this.#systemAt(last)?.bytes ?? 0;
        const blocks = Math.floor(bytes / blockBytes);
        return done(
          `Block count:              ${blocks}\nBlock size:               ${blockBytes}\n`,
        );
      }
      case 'resize2fs': {
        const file = kernel.loops.get(last)?.file;
        if (file?.system) file.system.bytes = file.bytes;
        return done();
      }
      case 'mount':
        return this.#mount(args.at(-2) ?? '', last);
      case 'umount':
        if (!kernel.mountedAt(last)) return failed(`umount: ${last}: not mounted.`, 32);
        if (this.#isBusy(last)) return failed(`umount: ${last}: target is busy.`, 32);
        kernel.unmount(last);
        return done();
      case 'fsfreeze':
        return this.#thaw(last);
      default:
        throw new Error(`the fake node has no program ${command} ${args.join(' ')}`);
    }
  }

  /** The file system on a device, or in an image. */
  #systemAt(path: string): FakeFile['system'] {
    const kernel = this.#kernel;
    if (kernel.kindAt(path) === 'file') return kernel.file(path).system;
    return kernel.loops.get(path)?.file.system;
  }

  #isBusy(target: string): boolean {
    const open = [...this.#opened.values()].some((held) => held.target === target);
    return open || this.#kernel.users.has(target);
  }

  #losetup(args: readonly string[]): CommandResult {
    const kernel = this.#kernel;
    const last = args.at(-1) ?? '';
    if (args.includes('--associated')) return done(kernel.loopsOver(args[1] ?? '').join('\n'));
    if (args.includes('--list')) {
      const lines = [...kernel.loops].map(
        ([device, loop]) =>
          `${device} 0 ${kernel.identityOf(loop.file).split(' ').reverse().join(' ')} ${loop.path}${kernel.isRemoved(loop) ? '\\x20(deleted)' : ''}`,
      );
      return done(lines.join('\n'));
    }
    if (args.includes('--find')) return done(`${kernel.attach(last)}\n`);
    if (args.includes('--detach')) {
      if (!kernel.loops.has(last)) return failed(`losetup: ${last}: detach failed: No such device`);
      kernel.detach(last);
    }
    return done();
  }

  #mount(device: string, target: string): CommandResult {
    if (this.#kernel.kindAt(target) !== 'directory')
      return failed('mount point does not exist', 32);
    if (!this.#kernel.loops.get(device)?.file.system) return failed('wrong fs type', 32);
    this.#kernel.mount(device, target);
    return done();
  }

  #thaw(path: string): CommandResult {
    const device = this.#opened.get(path)?.device;
    if (device === undefined) return failed(`fsfreeze: cannot open ${path}`);
    if (this.#kernel.frozen.delete(device)) return done();
    return failed('fsfreeze: unfreeze failed: Invalid argument');
  }

  /** Reads the first record, and later the second one: a write in between tears the copy. */
  async #copied(from: string, to: string, step: Step): Promise<void> {
    const source = this.#kernel.file(from);
    const copy = await step('cp begins', () => {
      const file = this.#kernel.makeFile(to);
      file.whole = false;
      file.bytes = source.bytes;
      file.system = source.system && { ...source.system, second: -1 };
      return file;
    });
    for (let piece = 0; piece < copyPieces; piece += 1) await step('cp', () => undefined);
    await step('cp ends', () => {
      if (copy.system && source.system) copy.system.second = source.system.second;
      copy.whole = source.whole;
    });
  }

  async #copy(args: readonly string[], step: Step): Promise<CommandResult> {
    const [from = '', to = ''] = args.slice(-2);
    await this.#copied(from, to, step);
    return done();
  }

  async #frozenCopy(
    args: readonly string[],
    step: Step,
    onFrozen: (device: string) => void,
  ): Promise<CommandResult> {
    const [, , , opened = '', from = '', to = ''] = args;
    const device = this.#opened.get(opened)?.device;
    const { frozen } = this.#kernel;
    const mine = await step('fsfreeze --freeze', () => {
      if (device === undefined || frozen.has(device)) return false;
      frozen.add(device);
      onFrozen(device);
      return true;
    });
    if (!mine || device === undefined)
      return failed('fsfreeze: freeze failed: Device or resource busy');
    await this.#copied(from, to, step);
    const thawed = await step('fsfreeze --unfreeze', () => frozen.delete(device));
    return thawed ? done() : failed('fsfreeze: unfreeze failed: Invalid argument', thawFailed);
  }
}
