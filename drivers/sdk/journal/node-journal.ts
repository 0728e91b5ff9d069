import { createHash } from 'node:crypto';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DriverError } from '../errors/errors.js';
import type { LoopRecord } from './loop-record.js';
import { makeDirectory } from '../node/make-directory.js';
import { draftEnding, replaceFile, syncFolder } from '../node/replace-file.js';

/** Kernel state of the node that outlives the process that created it. */
export type NodeState =
  /** A frozen file system; nothing can be written until it is thawed. */
  | {
      readonly type: 'freeze';
      readonly uid: string;
      /** The device of the file system, such as `/dev/loop3`. */
      readonly device: string;
    }
  /** A loop device over a file. */
  | {
      readonly type: 'loop';
      readonly uid: string;
      readonly file: string;
      /** Identity of the file; another file may be there later. */
      readonly identity?: string;
    }
  /** A mounted device. */
  | { readonly type: 'mount'; readonly uid: string; readonly target: string };

type LoopState = Extract<NodeState, { type: 'loop' }>;

/** The storage of a journal: small texts by name. A write is atomic and durable. */
export interface JournalFiles {
  list(): Promise<readonly string[]>;
  /** Returns the text of a record; undefined if it does not exist. @throws Error if it can't be read */
  read(name: string): Promise<string | undefined>;
  write(name: string, text: string): Promise<void>;
  /** Succeeds for a name that does not exist. */
  remove(name: string): Promise<void>;
  /** Moves a text out of the list; returns its new path. */
  setAside(name: string): Promise<string>;
}

/** The content of a journal. */
export interface JournalContent {
  /** In the order of their undo: freezes, mounts, loop devices. */
  readonly states: readonly NodeState[];
  /** The states of damaged records that were recognized by their name. Their records are rewritten if possible. */
  readonly repaired: readonly NodeState[];
  /** Places of records that can't be read; they were set aside. */
  readonly damaged: readonly string[];
}

/** Devices, files and mount points that the node has now. */
export type NodePlaces = () => Promise<readonly string[]>;

/**
 * The journal of kernel resources for volumes: written before they are created, removed after they are undone.
 * After a kill at any moment the journal names everything that exists; it may name more.
 */
export class NodeJournal {
  readonly #files: JournalFiles;

  constructor(files: JournalFiles) {
    this.#files = files;
  }

  /** Records a state, then creates it. If `act` fails the record is kept, because the state may exist in part. */
  async make<T>(state: NodeState, act: () => Promise<T>): Promise<T> {
    await this.#begin(state);
    return act();
  }

  /** Undoes a state, then removes its record. If `act` fails the record is kept. */
  async undo<T>(state: NodeState, act: () => Promise<T>): Promise<T> {
    const result = await act();
    await this.forget(state);
    return result;
  }

  /**
   * Runs `work`, which creates a state and undoes it before it succeeds. The same state of a dead process is undone
   * first. If `work` fails, its state is undone too.
   */
  async hold(
    state: NodeState,
    work: () => Promise<void>,
    undo: () => Promise<void>,
  ): Promise<void> {
    if (await this.has(state)) await undo();
    await this.#begin(state);
    try {
      await work();
    } catch (error) {
      await this.undo(state, undo).catch((undoing: unknown) => {
        throw bothFailed(error, undoing);
      });
      throw error;
    }
    await this.forget(state);
  }

  /** Whether a state is recorded: it exists, or is about to be created. */
  async has(state: NodeState): Promise<boolean> {
    return (await this.#files.read(nameOf(state))) !== undefined;
  }

  /** The record of an image's loop device, with a lookup among the records of all images. */
  async loopRecord(state: LoopState): Promise<LoopRecord> {
    const own = await this.#loop(nameOf(state));
    return { identity: own?.identity, imagesOf: (identity) => this.#imagesOf(identity) };
  }

  async #imagesOf(identity: string): Promise<readonly string[]> {
    const images: string[] = [];
    for (const name of await this.#files.list()) {
      const loop = await this.#loop(name);
      if (loop?.identity === identity) images.push(loop.file);
    }
    return images;
  }

  async #loop(name: string): Promise<LoopState | undefined> {
    if (!name.startsWith('loop-')) return undefined;
    const read = await this.#read(name);
    return typeof read === 'object' && read.type === 'loop' ? read : undefined;
  }

  /** Removes the record of an undone state. Idempotent. */
  forget(state: NodeState): Promise<void> {
    return this.#files.remove(nameOf(state));
  }

  #begin(state: NodeState): Promise<void> {
    return this.#files.write(nameOf(state), JSON.stringify(state));
  }

  /**
   * All recorded states. A damaged record is identified by its name, if the node still has its place. Otherwise it is
   * set aside, so that it does not prevent the undo of others.
   */
  async replay(places: NodePlaces = () => Promise.resolve([])): Promise<JournalContent> {
    const states: NodeState[] = [];
    const unread: string[] = [];
    for (const name of await this.#files.list()) {
      const read = await this.#read(name);
      if (read === 'damaged') unread.push(name);
      else if (read) states.push(read);
    }
    const repaired: NodeState[] = [];
    const damaged: string[] = [];
    const known = unread.length > 0 ? await places() : [];
    for (const name of unread) {
      const state = stateNamed(name, known);
      const place = state ? undefined : await this.#files.setAside(name);
      if (state) repaired.push(state);
      if (place !== undefined) damaged.push(place);
    }
    // A record that can't be written is undone anyway; a failure to remove it is reported.
    for (const state of repaired) await this.#begin(state).catch(() => undefined);
    const order = ['freeze', 'mount', 'loop'];
    return {
      states: [...states, ...repaired].sort(
        (a, b) => order.indexOf(a.type) - order.indexOf(b.type),
      ),
      repaired,
      damaged,
    };
  }

  async #read(name: string): Promise<NodeState | 'damaged' | undefined> {
    try {
      const text = await this.#files.read(name);
      return text === undefined ? undefined : (parse(text) ?? 'damaged');
    } catch {
      // Reported in the result; one bad block must not prevent the undo of the others.
      return 'damaged';
    }
  }
}

/** The error of the work together with the error of its undo. */
function bothFailed(error: unknown, undoing: unknown): DriverError {
  const { kind, message, retryAfterMs, operation } = DriverError.from(error);
  const second = DriverError.from(undoing).message;
  return new DriverError(kind, `${message}; the undo also failed: ${second}`, {
    cause: new AggregateError([error, undoing]),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(operation === undefined ? {} : { operation }),
  });
}

/** Parses a record; undefined if it is damaged. */
function parse(text: string): NodeState | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Reported in the result.
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { type, uid, device, file, identity, target } = value as Partial<Record<string, unknown>>;
  if (typeof uid !== 'string') return undefined;
  if (type === 'freeze' && typeof device === 'string') return { type, uid, device };
  if (type === 'loop' && typeof file === 'string')
    return { type, uid, file, ...(typeof identity === 'string' ? { identity } : {}) };
  if (type === 'mount' && typeof target === 'string') return { type, uid, target };
  return undefined;
}

/** The name of a state's record; its path is hashed, because it may contain any characters. */
function nameOf(state: NodeState): string {
  const place =
    state.type === 'freeze' ? state.device : state.type === 'loop' ? state.file : state.target;
  const hash = createHash('sha256').update(place).digest('hex').slice(0, 16);
  return `${state.type}-${state.uid}-${hash}`;
}

/**
 * Returns the state of a record name, without the identity of a loop's file; undefined if the name is not a record
 * name, or its place is not one of `places`.
 */
function stateNamed(name: string, places: readonly string[]): NodeState | undefined {
  const [, type, uid] = /^(freeze|loop|mount)-(.+)-[0-9a-f]{16}$/.exec(name) ?? [];
  if (type === undefined || uid === undefined) return undefined;
  return places
    .map((place): NodeState => {
      if (type === 'freeze') return { type, uid, device: place };
      return type === 'loop' ? { type, uid, file: place } : { type: 'mount', uid, target: place };
    })
    .find((state) => nameOf(state) === name);
}

/** A journal in memory, for tests and for tools that undo their own states. */
export function memoryJournal(): NodeJournal {
  const texts = new Map<string, string>();
  return new NodeJournal({
    list: () => Promise.resolve([...texts.keys()]),
    read: (name) => Promise.resolve(texts.get(name)),
    write: (name, text) => {
      texts.set(name, text);
      return Promise.resolve();
    },
    remove: (name) => {
      texts.delete(name);
      return Promise.resolve();
    },
    setAside: (name) => {
      texts.delete(name);
      return Promise.resolve(name);
    },
  });
}

const damagedEnding = '.damaged';

/** A journal in a directory of this node, which is created with mode 0700. */
export function directoryJournal(directory: string): NodeJournal {
  const absentIsUndefined = async <T>(work: Promise<T>): Promise<T | undefined> => {
    try {
      return await work;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  };
  return new NodeJournal({
    async list() {
      const names = (await absentIsUndefined(readdir(directory))) ?? [];
      return names.filter((name) => !name.endsWith(draftEnding) && !name.endsWith(damagedEnding));
    },
    read: (name) => absentIsUndefined(readFile(join(directory, name), 'utf8')),
    async write(name, text) {
      await makeDirectory(directory, 0o700);
      await replaceFile(join(directory, name), text);
    },
    async remove(name) {
      const gone = await absentIsUndefined(rm(join(directory, name)).then(() => true));
      if (gone) await syncFolder(directory);
    },
    async setAside(name) {
      const place = join(directory, `${name}${damagedEnding}`);
      await rename(join(directory, name), place);
      await syncFolder(directory);
      return place;
    },
  });
}
