import { type Clock, type Random, sleep } from 'kedge';
import {
  type CommandResult,
  DriverError,
  type HostFiles,
  KeyedQueue,
  type NodeHost,
  NodeJournal,
  type StorageRoot,
} from '@kedge/driver-sdk';
import { type FakeKernel, fileError, rootPath } from './fake-kernel.js';
import { FakePrograms, type HeldDirectory, type Step } from './fake-programs.js';

/** A program that a daemon runs. */
interface Child {
  readonly frozen: Set<string>;
  alive: boolean;
  /** Reports to the daemon that the program was killed. */
  readonly fail: (error: DriverError) => void;
}

/** An event immediately before or after a step. */
interface Planned {
  readonly at: number;
  readonly when: 'before' | 'after';
  readonly act: (step: string) => void;
}

const forever = (): Promise<never> => new Promise(() => undefined);

/** The content of the fake node's journal, which survives daemons. */
export type JournalTexts = Map<string, string>;

/**
 * The fake node as used by one process of the daemon. Each call takes some time and is a step, and an event may
 * be planned immediately before or after it. After the death of the daemon calls never return.
 */
export class FakeHost {
  readonly host: NodeHost;
  readonly journal: NodeJournal;
  readonly root: StorageRoot;
  /** Names of the steps so far. */
  readonly steps: string[] = [];
  readonly #kernel: FakeKernel;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #opened = new Map<string, HeldDirectory>();
  readonly #children = new Set<Child>();
  #planned: readonly Planned[] = [];
  /** A program was killed while the daemon continued. */
  childrenKilled = false;
  #alive = true;
  #entered = 0;

  constructor(kernel: FakeKernel, texts: JournalTexts, clock: Clock, random: Random) {
    this.#kernel = kernel;
    this.#clock = clock;
    this.#random = random;
    const programs = new FakePrograms(kernel, this.#opened);
    this.host = {
      run: (command, args, signal) =>
        this.#run(signal, (step, onFrozen) => programs.run(command, args, step, onFrozen)),
      files: this.#files(),
      holders: {
        holders: ({ device, directory }) =>
          this.#step('holders', () => {
            const at = kernel.mounts.filter((mount) => mount.device === device);
            const mounts = at.map(({ target }) => ({ type: 'mount', target, here: true }) as const);
            const users = [...kernel.users].filter((target) => target === directory);
            const none = { pid: 1, command: 'workload' };
            return [
              ...mounts.map((holder) => ({ ...none, ...holder })),
              ...users.map(() => ({ ...none, type: 'files' }) as const),
            ];
          }),
      },
      turns: new KeyedQueue(),
      mounts: () => this.#step('mount table', () => this.#mounts()),
      processMounts: () => this.#processMounts(),
      deviceNumber: (device) => this.#step('device number', () => kernel.numberOf(device)),
      hasFileSystem: (device) => this.#step('living file system', () => kernel.isAlive(device)),
      openDirectory: (path) => this.#step('open directory', () => this.#open(path)),
      pause: (ms, signal) => sleep(clock, ms, signal),
    };
    this.journal = this.#journal(texts);
    this.root = this.#storageRoot();
  }

  /** Whether the disk of the storage root is in use by a call, or by a loop device over one of its files. */
  get holdsRoot(): boolean {
    return this.#entered > 0 || this.#kernel.loops.size > 0;
  }

  /** Plans an event for one of the next steps. */
  plan(stepsFromNow: number, when: Planned['when'], act: Planned['act']): void {
    this.#planned = [...this.#planned, { at: this.steps.length + stepsFromNow, when, act }];
  }

  forgetPlans(): void {
    this.#planned = [];
  }

  /**
   * Kills the daemon. Its programs continue to their end, except copies, which stop; with `both` the programs
   * die too.
   */
  kill(whom: 'daemon' | 'both'): void {
    this.#alive = false;
    this.#entered = 0;
    this.#opened.clear();
    for (const child of this.#children) {
      child.alive = false;
      // Its standard input is closed: it ends its copy, and then thaws the frozen file systems.
      if (whom === 'daemon')
        this.#clock.setTimer(() => this.#thaw(child), this.#random.next() * 50);
    }
    this.#children.clear();
  }

  /** Kills only the programs of the daemon. */
  killChildren(): void {
    this.childrenKilled ||= this.#children.size > 0;
    for (const child of this.#children) {
      child.alive = false;
      child.fail(new DriverError('Unavailable', 'the program was killed'));
    }
    this.#children.clear();
  }

  #thaw({ frozen }: Child): void {
    for (const device of frozen) this.#kernel.frozen.delete(device);
  }

  async #step<T>(name: string, effect: () => T, isAlive = () => this.#alive): Promise<T> {
    const next = this.#random.next();
    if (next < 0.3) await sleep(this.#clock, next * 1_000);
    else await Promise.resolve();
    if (!isAlive()) return forever();
    this.steps.push(name);
    this.#meet('before', name);
    if (!isAlive()) return forever();
    let result: T;
    try {
      result = effect();
    } finally {
      this.#meet('after', name);
    }
    return isAlive() ? result : forever();
  }

  #meet(when: Planned['when'], name: string): void {
    const isNow = (plan: Planned): boolean => plan.when === when && plan.at <= this.steps.length;
    const now = this.#planned.filter(isNow);
    this.#planned = this.#planned.filter((plan) => !now.includes(plan));
    for (const { act } of now) act(name);
  }

  async #run(
    signal: AbortSignal,
    program: (step: Step, onFrozen: (device: string) => void) => Promise<CommandResult>,
  ): Promise<CommandResult> {
    if (!this.#alive) return forever();
    const aborted = (): DriverError =>
      new DriverError('Timeout', 'the program did not end in time');
    if (signal.aborted) throw aborted();
    let fail: Child['fail'] = () => undefined;
    const killed = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const child: Child = { frozen: new Set(), alive: true, fail };
    this.#children.add(child);
    const abort = (): void => {
      child.alive = false;
      this.#thaw(child);
      fail(aborted());
    };
    signal.addEventListener('abort', abort, { once: true });
    const step: Step = (name, effect) => this.#step(name, effect, () => child.alive);
    try {
      const ended = program(step, (device) => child.frozen.add(device));
      const result = await Promise.race([ended, killed]);
      return this.#alive ? result : await forever();
    } finally {
      this.#children.delete(child);
      signal.removeEventListener('abort', abort);
    }
  }

  #mounts() {
    const kernel = this.#kernel;
    return kernel.mounts.map(({ device, target }) => ({
      device: kernel.numberOf(device),
      root: '/',
      target,
      readOnly: false,
      fsType: 'ext4',
      source: device,
    }));
  }

  async *#processMounts() {
    const mounts = await this.#step('mount tables', () => this.#mounts());
    yield { pid: 1, namespace: 'mnt:[1]', mounts };
  }

  #open(given: string) {
    const kernel = this.#kernel;
    const target = given.replace('/proc/1/root', '');
    if (kernel.kindAt(target) !== 'directory') throw fileError('ENOENT', target);
    const device = kernel.mountedAt(target)?.device;
    const path = `/proc/1/fd/${this.#opened.size + this.steps.length}`;
    this.#opened.set(path, { target, device });
    return {
      device: device === undefined ? '0:1' : kernel.numberOf(device),
      path,
      close: () => {
        this.#opened.delete(path);
        return Promise.resolve();
      },
    };
  }

  #files(): HostFiles {
    const kernel = this.#kernel;
    const step = <T>(name: string, effect: () => T): Promise<T> => this.#step(name, effect);
    return {
      kindAt: (path) => step('stat a file', () => kernel.kindAt(path)),
      realPath: (path) =>
        step('real path', () => {
          const living = /^\/sys\/fs\/ext4\/(.+)$/.exec(path)?.[1];
          const isThere =
            living === undefined
              ? kernel.kindAt(path) !== 'absent'
              : kernel.isAlive(`/dev/${living}`);
          return isThere ? path : undefined;
        }),
      makeFolder: (path, { parents = false }) =>
        step('make folder', () => kernel.makeFolder(path, parents)),
      makeTemporaryFolder: (prefix) =>
        step('make folder', () => kernel.makeTemporaryFolder(prefix)),
      removeFolder: (path) => step('remove folder', () => kernel.removeFolder(path)),
      list: (folder) => step('list', () => kernel.list(folder)),
      rename: (from, to) => step('rename', () => kernel.rename(from, to)),
      remove: (path) => step('remove', () => kernel.remove(path)),
      syncFolder: () => step('sync folder', () => undefined),
      size: (path) => step('size', () => BigInt(kernel.file(path).bytes)),
      identity: (path) =>
        step('identity', () => {
          const file = kernel.stored(path);
          return file && kernel.kindAt(path) === 'file' ? kernel.identityOf(file) : undefined;
        }),
      room: () => step('room', () => ({ bytes: 2 ** 40, files: undefined })),
      extend: (path, bytes) =>
        step('extend', () => {
          const file = kernel.makeFile(path);
          file.bytes = Math.max(file.bytes, bytes);
        }),
      startsAndEndsBlank: (device) =>
        step('read device', () => kernel.loops.get(device)?.file.system === undefined),
    };
  }

  #journal(texts: JournalTexts): NodeJournal {
    const step = <T>(name: string, effect: () => T): Promise<T> => this.#step(name, effect);
    return new NodeJournal({
      list: () => step('journal list', () => [...texts.keys()]),
      read: (name) => step('journal read', () => texts.get(name)),
      write: (name, text) => step('journal write', () => void texts.set(name, text)),
      remove: (name) => step('journal remove', () => void texts.delete(name)),
      setAside: (name) => step('journal set aside', () => (texts.delete(name), name)),
    });
  }

  #storageRoot(): StorageRoot {
    return {
      path: rootPath,
      use: async (work) => {
        const state = await this.#step('enter root', () => {
          if (this.#kernel.root === 'here') this.#entered += 1;
          return this.#kernel.root;
        });
        if (state !== 'here')
          throw new DriverError(
            'Unavailable',
            `storage root ${rootPath} is ${state}; mount its disk`,
          );
        try {
          return await work(rootPath);
        } finally {
          if (this.#alive) this.#entered -= 1;
        }
      },
    };
  }
}
