import { limits, StatusError } from '../../base/index.js';
import type { LazyObject } from '../record/lazy-object.js';

type Chunk = readonly LazyObject[];

const bytesOfReference = 8;
/** Replaced bytes after which the limit is checked again. */
const settleBytes = 1_048_576;

interface KindSnapshots {
  /** Cumulative encoded bytes of replaced objects. */
  replaced: number;
  /** Oldest first. */
  readonly open: Set<InitialSnapshot>;
}

/** The objects that a watch still has to send as its initial state, in key order. */
export class InitialSnapshot {
  /** Bytes of the kind's objects that were replaced before the snapshot was taken. */
  readonly replacedBefore: number;
  readonly #release: (chunk: Chunk) => void;
  readonly #end: (snapshot: InitialSnapshot) => void;
  /** Those that are not sent yet, in reverse order. */
  readonly #chunks: Chunk[];
  #offset = 0;
  #isDropped = false;

  constructor(
    chunks: readonly Chunk[],
    replacedBefore: number,
    release: (chunk: Chunk) => void,
    end: (snapshot: InitialSnapshot) => void,
  ) {
    this.#chunks = chunks.toReversed();
    this.replacedBefore = replacedBefore;
    this.#release = release;
    this.#end = end;
  }

  /**
   * Returns the next object; undefined after the last one.
   * @throws StatusError ResourceExhausted (SlowReader) if the snapshot was dropped
   */
  next(): LazyObject | undefined {
    if (this.#isDropped)
      throw new StatusError({
        code: 'ResourceExhausted',
        reason: 'SlowReader',
        message:
          'the initial state of the watch was read too slowly: the objects that were replaced meanwhile took too much memory; watch again and keep reading',
        retryAfterMs: 1_000,
      });
    for (;;) {
      const chunk = this.#chunks.at(-1);
      if (!chunk) return undefined;
      const entry = chunk[this.#offset];
      this.#offset += 1;
      if (entry) return entry;
      this.#release(chunk);
      this.#chunks.pop();
      this.#offset = 0;
    }
  }

  /** Frees the objects, because other watches need their memory. */
  drop(): void {
    this.#isDropped = true;
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    for (const chunk of this.#chunks.splice(0)) this.#release(chunk);
    this.#end(this);
  }
}

/**
 * The initial states that watches are sending. A snapshot shares its objects with the store until they are replaced, so
 * a watch that is not read would keep all objects that were replaced since its start. Beyond a limit, the kind that
 * keeps the most bytes loses its oldest snapshot.
 */
export class InitialSnapshots {
  readonly #bytesMax: number;
  readonly #kinds = new Map<string, KindSnapshots>();
  /** The chunks of all snapshots, which share them, with the number of snapshots. */
  readonly #chunks = new Map<Chunk, number>();
  #references = 0;
  #unsettled = 0;

  constructor(bytesMax: number = limits.initialStatesBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes that the snapshots keep in memory, at most: replaced objects, and references to objects. */
  get bytes(): number {
    let bytes = this.#references;
    for (const kind of this.#kinds.values()) bytes += heldBytes(kind);
    return bytes;
  }

  /** Takes a snapshot, to be disposed of at its end. May drop others. */
  take(kind: string, chunks: readonly Chunk[]): InitialSnapshot {
    let known = this.#kinds.get(kind);
    if (!known) this.#kinds.set(kind, (known = { replaced: 0, open: new Set() }));
    const { open, replaced } = known;
    const end = (snapshot: InitialSnapshot): void => {
      if (open.delete(snapshot) && open.size === 0) this.#kinds.delete(kind);
    };
    const taken = new InitialSnapshot(chunks, replaced, (chunk) => this.#release(chunk), end);
    open.add(taken);
    for (const chunk of chunks) this.#hold(chunk);
    this.#settle();
    return taken;
  }

  /** Counts bytes of replaced or deleted objects of a kind, which snapshots may keep alive. */
  noteReplaced(kind: string, bytes: number): void {
    const known = this.#kinds.get(kind);
    if (!known) return;
    known.replaced += bytes;
    this.#unsettled += bytes;
    if (this.#unsettled < settleBytes) return;
    this.#unsettled = 0;
    this.#settle();
  }

  #settle(): void {
    while (this.bytes > this.#bytesMax) {
      let greatest: KindSnapshots | undefined;
      for (const kind of this.#kinds.values())
        if (!greatest || heldBytes(kind) > heldBytes(greatest)) greatest = kind;
      const oldest = greatest?.open.values().next().value;
      if (!oldest) return;
      oldest.drop();
    }
  }

  #hold(chunk: Chunk): void {
    const count = this.#chunks.get(chunk) ?? 0;
    if (count === 0) this.#references += chunk.length * bytesOfReference;
    this.#chunks.set(chunk, count + 1);
  }

  #release(chunk: Chunk): void {
    const count = this.#chunks.get(chunk) ?? 0;
    if (count > 1) this.#chunks.set(chunk, count - 1);
    else if (this.#chunks.delete(chunk)) this.#references -= chunk.length * bytesOfReference;
  }
}

/** The bytes of replaced objects that the oldest snapshot of a kind keeps; the others share them. */
function heldBytes({ replaced, open }: KindSnapshots): number {
  const oldest = open.values().next().value;
  return oldest ? replaced - oldest.replacedBefore : 0;
}
