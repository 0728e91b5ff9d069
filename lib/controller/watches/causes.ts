/** Maximum number of causes that are kept per key; the first ones are kept. */
const causesMax = 8;
/** Maximum number of writes whose authors are kept. */
const writesMax = 10_000;
/** Maximum depth of a chain of authors. */
const chainMax = 6;
/** Maximum number of runs in a chain, over all its branches. */
const chainRunsMax = 24;

/** The cause of a requeue of a key. */
export type Cause =
  | {
      readonly type: 'added' | 'updated' | 'deleted';
      readonly kind: string;
      readonly object: string;
      readonly resourceVersion: string;
      /** The run that wrote that version in a `txn`, if known. */
      readonly by?: Author;
    }
  | { readonly type: 'timer' | 'retry' | 'manual' | 'restored' };

/** The run of a reconciler that wrote something. */
export interface Author {
  readonly controller: string;
  readonly key: string;
  /** Number of the run; see {@link CauseRegistry.nextRun}. */
  readonly run: number;
  /** The causes of that run, at most six steps back. */
  readonly causes: readonly Cause[];
}

/** One version of one object. */
export interface WrittenVersion {
  readonly kind: string;
  /** Key of the object. */
  readonly object: string;
  readonly resourceVersion: string;
}

/**
 * Records which run wrote which version, so that later runs know their causes. Controllers that share one, such as
 * that of `Manager.ports`, know each other's runs.
 *
 * Guarantees: memory is bounded. The last 10,000 writes are kept, and a chain of authors is cut after six steps or
 * 24 runs, so that two controllers that trigger each other endlessly stay bounded.
 */
export class CauseRegistry {
  readonly #authors = new Map<string, Author>();
  #runs = 0;

  /** Returns the number of a new run, which no other run has under this registry. */
  nextRun(): number {
    this.#runs += 1;
    return this.#runs;
  }

  /** Records `author` as the writer of this version. */
  wrote(version: WrittenVersion, author: Author): void {
    this.#authors.set(idOf(version), shortened(author));
    if (this.#authors.size <= writesMax) return;
    const oldest = this.#authors.keys().next();
    if (!oldest.done) this.#authors.delete(oldest.value);
  }

  /** The run that wrote this version; undefined if it is not recorded. */
  authorOf(version: WrittenVersion): Author | undefined {
    return this.#authors.get(idOf(version));
  }

  /**
   * The causes with the authors that are known by now. A change reaches watchers before the write of its author
   * resolves, so the author may become known only after the change triggered a run.
   */
  resolved(causes: readonly Cause[]): readonly Cause[] {
    if (this.#authors.size === 0) return causes;
    return causes.map((cause) => {
      if (!('object' in cause) || cause.by) return cause;
      const by = this.authorOf(cause);
      return by ? { ...cause, by } : cause;
    });
  }
}

function idOf({ kind, object, resourceVersion }: WrittenVersion): string {
  return `${kind} ${object}@${resourceVersion}`;
}

/** A copy whose chain ends after {@link chainMax} steps and {@link chainRunsMax} runs. */
function shortened(author: Author): Author {
  let runs = 1;
  const shorten = (causes: readonly Cause[], depth: number): readonly Cause[] =>
    causes.map((cause) => {
      if (!('object' in cause) || !cause.by) return cause;
      const { by, ...rest } = cause;
      if (depth >= chainMax || runs >= chainRunsMax) return rest;
      runs += 1;
      return { ...rest, by: { ...by, causes: shorten(by.causes, depth + 1) } };
    });
  return { ...author, causes: shorten(author.causes, 1) };
}

/** The causes of keys that wait for their run. */
export class PendingCauses {
  readonly #byKey = new Map<string, Cause[]>();

  note(key: string, cause: Cause): void {
    const causes = this.#byKey.get(key);
    // A change during the delay of a key replaces the timer as the cause.
    const waited = causes?.every((known) => !('object' in known));
    if (!causes || (waited && 'object' in cause)) this.#byKey.set(key, [cause]);
    else if (causes.length < causesMax) causes.push(cause);
  }

  /** Removes and returns the causes of a key whose run starts. */
  take(key: string): readonly Cause[] {
    const causes = this.#byKey.get(key);
    this.#byKey.delete(key);
    return causes ?? [];
  }

  get size(): number {
    return this.#byKey.size;
  }
}

/** One line with the causes: `updated Lamp default/desk@41 by lamp default/desk#7 (added Lamp ...)`. */
export function describeCauses(causes: readonly Cause[], depth = 0): string {
  return causes.map((cause) => describe(cause, depth)).join(', ');
}

function describe(cause: Cause, depth: number): string {
  if (!('object' in cause)) return cause.type;
  const what = `${cause.type} ${cause.kind} ${cause.object}@${cause.resourceVersion}`;
  const { by } = cause;
  if (!by) return what;
  const who = `${what} by ${by.controller} ${by.key}#${by.run}`;
  if (depth >= chainMax || by.causes.length === 0) return who;
  return `${who} (${describeCauses(by.causes, depth + 1)})`;
}
