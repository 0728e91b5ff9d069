import { basename, dirname } from 'node:path';
import { type Random, seededRandom } from '../base/index.js';
import type { DirectoryEntry, FileSystem, OpenFile, OpenMode } from '../store/index.js';
import {
  sectorBytes,
  type FileNode,
  type DirectoryNode,
  type Node,
  type NameChange,
  emptyDirectory,
  applyDurably,
} from './hostile-nodes.js';
import type { Fault, HostileOptions } from './hostile-options.js';

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code, path });
}

/**
 * A disk in memory that fails like a real one. After a power loss, unsynced content is lost, kept, or torn between
 * sectors, and unsynced names may survive or not. Any call can be made to fail. A seed determines what survives, so
 * that failures can be repeated.
 */
export class HostileFileSystem implements FileSystem {
  readonly #root = emptyDirectory();
  readonly #options: HostileOptions;
  readonly #random: Random;
  readonly #faults = new Map<number, Fault>();
  #pending: NameChange[] = [];
  #calls = 0;
  #dead = false;
  /** The number of restarts. Handles of an earlier number are invalid. */
  #restarts = 0;

  constructor(options: HostileOptions = {}) {
    this.#options = options;
    this.#random = options.random ?? seededRandom(1);
  }

  /** The number of calls so far, of the file system and of open files. */
  get calls(): number {
    return this.#calls;
  }

  /** True from a power loss until `restart`. */
  get dead(): boolean {
    return this.#dead;
  }

  /** Sets a fault for the call with this number, counted like `calls`: 1 is the first. */
  faultAt(call: number, fault: Fault): void {
    this.#faults.set(call, fault);
  }

  /** Restarts with the content that survives a power loss, also if none happened before. Removes the faults. */
  restart(): void {
    const { names = 'any' } = this.#options;
    const cut = Math.floor(this.#random.next() * (this.#pending.length + 1));
    this.#pending.forEach((change, at) => {
      if (names === 'any' ? this.#random.next() < 0.5 : at < cut) applyDurably(change);
    });
    this.#pending = [];
    this.#survive(this.#root);
    this.#faults.clear();
    this.#dead = false;
    this.#restarts += 1;
  }

  async open(path: string, mode: OpenMode): Promise<OpenFile> {
    return this.#call(() => this.#openFile(path, mode));
  }

  async readFile(path: string): Promise<Buffer> {
    return this.#call(() => Buffer.from(this.#file(path).current));
  }

  async readDirectory(path: string): Promise<readonly DirectoryEntry[]> {
    return this.#call(() =>
      [...this.#directory(path).current].map(([name, { type }]) => ({ name, type })),
    );
  }

  async makeDirectory(path: string): Promise<void> {
    return this.#call(() => {
      let directory = this.#root;
      for (const name of partsOf(path)) {
        const next = directory.current.get(name) ?? emptyDirectory();
        if (next.type !== 'directory') throw systemError('EEXIST', path);
        if (!directory.current.has(name)) this.#change([{ directory, name, node: next }]);
        directory = next;
      }
    });
  }

  async rename(from: string, to: string): Promise<void> {
    return this.#call(() => {
      const node = this.#find(from);
      if (!node) throw systemError('ENOENT', from);
      const target = this.#find(to);
      if (target?.type === 'directory' && (node.type === 'file' || target.current.size > 0))
        throw systemError('ENOTEMPTY', to);
      this.#change([
        { directory: this.#directory(dirname(from)), name: basename(from), node: undefined },
        { directory: this.#directory(dirname(to)), name: basename(to), node },
      ]);
    });
  }

  async remove(path: string): Promise<void> {
    return this.#call(() => {
      if (this.#find(path)) this.#removeNode(this.#directory(dirname(path)), basename(path));
    });
  }

  async copyFile(from: string, to: string): Promise<void> {
    const content = await this.readFile(from);
    const file = await this.open(to, 'w');
    try {
      await file.write(content, 0);
    } finally {
      await file.close();
    }
  }

  async syncDirectory(path: string): Promise<void> {
    return this.#call(() => {
      const directory = this.#directory(path);
      this.#pending = this.#pending.filter((change) => {
        const touches = change.steps.some((step) => step.directory === directory);
        if (touches) applyDurably(change);
        return !touches;
      });
    });
  }

  async exists(path: string): Promise<boolean> {
    return this.#call(() => this.#find(path) !== undefined);
  }

  async size(path: string): Promise<number> {
    return this.#call(() => this.#file(path).current.length);
  }

  async freeBytes(): Promise<number | undefined> {
    const { capacityBytes } = this.#options;
    return this.#call(() =>
      capacityBytes === undefined ? undefined : Math.max(0, capacityBytes - this.#used()),
    );
  }

  #openFile(path: string, mode: OpenMode): OpenFile {
    const name = basename(path);
    const directory = this.#directory(dirname(path));
    let node = directory.current.get(name);
    if (node?.type === 'directory') throw systemError('EISDIR', path);
    if (node && mode === 'wx') throw systemError('EEXIST', path);
    if (!node) {
      if (mode === 'r' || mode === 'r+') throw systemError('ENOENT', path);
      node = { type: 'file', current: Buffer.alloc(0), durable: Buffer.alloc(0) };
      this.#change([{ directory, name, node }]);
    } else if (mode === 'w') {
      node.current = Buffer.alloc(0);
    }
    return this.#handle(path, node);
  }

  #handle(path: string, file: FileNode): OpenFile {
    const restarts = this.#restarts;
    const call = async <R>(work: () => R): Promise<R> => {
      if (restarts !== this.#restarts) throw systemError('EBADF', path);
      return this.#call(work);
    };
    return {
      read: (position, length) =>
        call(() => Buffer.from(file.current.subarray(position, position + length))),
      write: (bytes, position) => call(() => this.#write(path, file, bytes, position)),
      sync: () =>
        call(() => {
          file.durable = file.current;
        }),
      close: () => call(() => undefined),
    };
  }

  #write(path: string, file: FileNode, bytes: Buffer, position: number): void {
    const { capacityBytes = Infinity } = this.#options;
    const size = Math.max(file.current.length, position + bytes.length);
    if (this.#used() - file.current.length + size > capacityBytes)
      throw systemError('ENOSPC', path);
    const content = Buffer.alloc(size);
    file.current.copy(content);
    bytes.copy(content, position);
    file.current = content;
  }

  async #call<R>(work: () => R): Promise<R> {
    // The call completes later, as on a disk, so that other pending work runs in between.
    await Promise.resolve();
    if (this.#dead) throw systemError('EIO', 'the machine has no power');
    this.#calls += 1;
    const fault = this.#faults.get(this.#calls);
    if (fault?.type === 'error') throw systemError(fault.code, `call ${this.#calls}`);
    if (fault?.type === 'powerLoss') {
      this.#dead = true;
      // The call may or may not have been executed by then.
      if (this.#random.next() < 0.5) work();
      throw systemError('EIO', 'the machine lost power');
    }
    const result = work();
    if (fault?.type === 'errorAfter') throw systemError(fault.code, `after call ${this.#calls}`);
    return result;
  }

  #change(steps: NameChange['steps']): void {
    for (const { directory, name, node } of steps) {
      if (node) directory.current.set(name, node);
      else directory.current.delete(name);
    }
    this.#pending.push({ steps });
  }

  #removeNode(directory: DirectoryNode, name: string): void {
    const node = directory.current.get(name);
    if (node?.type === 'directory')
      for (const child of [...node.current.keys()]) this.#removeNode(node, child);
    this.#change([{ directory, name, node: undefined }]);
  }

  #find(path: string): Node | undefined {
    let node: Node = this.#root;
    for (const name of partsOf(path)) {
      if (node.type !== 'directory') return undefined;
      const next = node.current.get(name);
      if (!next) return undefined;
      node = next;
    }
    return node;
  }

  #directory(path: string): DirectoryNode {
    const node = this.#find(path);
    if (node?.type !== 'directory') throw systemError(node ? 'ENOTDIR' : 'ENOENT', path);
    return node;
  }

  #file(path: string): FileNode {
    const node = this.#find(path);
    if (node?.type !== 'file') throw systemError(node ? 'EISDIR' : 'ENOENT', path);
    return node;
  }

  #used(node: Node = this.#root): number {
    if (node.type === 'file') return node.current.length;
    let bytes = 0;
    for (const child of node.current.values()) bytes += this.#used(child);
    return bytes;
  }

  /** Applies a power loss to a directory, recursively. */
  #survive(directory: DirectoryNode): void {
    directory.current.clear();
    for (const [name, node] of directory.durable) {
      directory.current.set(name, node);
      if (node.type === 'directory') this.#survive(node);
      else node.current = node.durable = this.#torn(node);
    }
  }

  /** The content after a power loss: the synced content, the content written later, or a mixture of both by sectors. */
  #torn({ durable, current }: FileNode): Buffer {
    if (durable === current) return durable;
    const choice = this.#random.next();
    if (choice < 0.3) return durable;
    if (choice < 0.5) return current;
    const [short, long] = [durable.length, current.length].sort((a, b) => a - b);
    const size = (short ?? 0) + Math.floor(this.#random.next() * ((long ?? 0) - (short ?? 0) + 1));
    const content = Buffer.alloc(size);
    for (let at = 0; at < size; at += sectorBytes) {
      const from = this.#random.next() < 0.5 ? durable : current;
      if (at < from.length) from.copy(content, at, at, Math.min(at + sectorBytes, size));
    }
    return content;
  }
}

function partsOf(path: string): readonly string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}
