import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DriverError } from '../contract/errors.js';
import type { LoopRecord } from './loop-record.js';
import { draftEnding, replaceFile, syncFolder } from '../node/replace-file.js';

/** Something of the node's kernel that outlives the process that made it. */
export type NodeState =
  /** A frozen file system; nothing can be written until it is thawed. */
  | {
      readonly type: 'freeze';
      readonly uid: string;
      /** The device that it is on, such as `/dev/loop3`. */
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
  /** Undefined for a name that does not exist. @throws Error for one that can't be read */
  read(name: string): Promise<string | undefined>;
  write(name: string, text: string): Promise<void>;
  /** Succeeds for a name that does not exist. */
  remove(name: string): Promise<void>;
  /** Keeps a text where it is no longer listed; gives the place. */
  setAside(name: string): Promise<string>;
}

/** A record of a journal. */
export interface JournalContent {
  /** Freezes first, then mounts, then loop devices, as they are to be undone. */
  readonly states: readonly NodeState[];
  /** Those of `states` whose record could not be read: it was written again. */
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

  /** Records a state and makes it. When `act` fails the record stays: it may have been made in part. */
  async make<T>(state: NodeState, act: () => Promise<T>): Promise<T> {
    await this.#begin(state);
    return act();
  }

  /** Undoes a state and forgets it. When `act` fails the record stays. */
  async undo<T>(state: NodeState, act: () => Promise<T>): Promise<T> {
    const result = await act();
    await this.forget(state);
    return result;
  }

  /**
   * Runs `work`, which creates a state and undoes it before it succeeds. The same state left by a process that died is
   * undone first. If `work` fails, its state is undone too.
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

  /** Whether a state is recorded: made, or about to be. */
  async has(state: NodeState): Promise<boolean> {
    return (await this.#files.read(nameOf(state))) !== undefined;
  }

  /** The records of a loop device, and of those of other images. */
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

  /** Forgets a state that is undone. Idempotent. */
  forget(state: NodeState): Promise<void> {
    return this.#files.remove(nameOf(state));
  }

  #begin(state: NodeState): Promise<void> {
    return this.#files.write(nameOf(state), JSON.stringify(state));
  }

  /**
   * All states recorded. The name of a damaged record identifies its subject, if the node still has the
   * place. Another damaged record is set aside, so that it keeps no other one from being undone.
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
      // Told by the answer; one bad block must not keep the others from being undone.
      return 'damaged';
    }
  }
}

/** The error of a work, with what its undoing failed with. */
function bothFailed(error: unknown, undoing: unknown): DriverError {
  const { kind, message, retryAfterMs, operation } = DriverError.from(error);
  const second = DriverError.from(undoing).message;
  return new DriverError(kind, `${message}; the undo also failed: ${second}`, {
    cause: new AggregateError([error, undoing]),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(operation === undefined ? {} : { operation }),
  });
}

/** Undefined for a text that is no record. */
function parse(text: string): NodeState | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Told by the answer.
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

/** The name of a state, for any paths. */
function nameOf(state: NodeState): string {
  const place =
    state.type === 'freeze' ? state.device : state.type === 'loop' ? state.file : state.target;
  const hash = createHash('sha256').update(place).digest('hex').slice(0, 16);
  return `${state.type}-${state.uid}-${hash}`;
}

/** The state that a record has its name from; undefined when its place is none of `places`. */
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

/** A journal that ends with the process: for tests, and for tools that undo what they do. */
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

/** A journal in a directory of this node, which is made with mode 0700. */
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
      await mkdir(directory, { recursive: true, mode: 0o700 });
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
