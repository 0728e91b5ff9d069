/** Causes kept a key: the first ones say most, later ones are counted. */
const causesMax = 8;
/** Writes whose authors are remembered. */
const writesMax = 10_000;
/** Steps a chain is followed back. */
const chainMax = 6;

/** Why a key was woken. */
export type Cause =
  | {
      readonly type: 'added' | 'updated' | 'deleted';
      readonly kind: string;
      readonly object: string;
      readonly resourceVersion: string;
      /** The reconcile that wrote that version, where it is known. */
      readonly by?: Author;
    }
  | { readonly type: 'timer' | 'retry' | 'manual' | 'restored' };

/** The run of a reconciler that wrote something. */
export interface Author {
  readonly controller: string;
  readonly key: string;
  /** Number of the run, unique in this process. */
  readonly run: number;
  readonly causes: readonly Cause[];
}

/**
 * Remembers which run wrote which version, so that the next run can say where it comes from. Shared
 * by the controllers of a manager; bounded, oldest first out.
 */
export class CauseRegistry {
  readonly #authors = new Map<string, Author>();
  #runs = 0;

  /** A number for a run. */
  nextRun(): number {
    this.#runs += 1;
    return this.#runs;
  }

  wrote(resourceVersion: string, author: Author): void {
    this.#authors.set(resourceVersion, author);
    if (this.#authors.size <= writesMax) return;
    const oldest = this.#authors.keys().next();
    if (!oldest.done) this.#authors.delete(oldest.value);
  }

  authorOf(resourceVersion: string): Author | undefined {
    return this.#authors.get(resourceVersion);
  }
}

/** The causes of keys that wait for their run. */
export class PendingCauses {
  readonly #byKey = new Map<string, Cause[]>();

  note(key: string, cause: Cause): void {
    const causes = this.#byKey.get(key);
    // A change that comes while the key waits for its time is what wakes it.
    const waited = causes?.every((known) => !('object' in known));
    if (!causes || (waited && 'object' in cause)) this.#byKey.set(key, [cause]);
    else if (causes.length < causesMax) causes.push(cause);
  }

  /** The causes of a run that begins. */
  take(key: string): readonly Cause[] {
    const causes = this.#byKey.get(key);
    this.#byKey.delete(key);
    return causes ?? [];
  }

  get size(): number {
    return this.#byKey.size;
  }
}

/** One line that says why: `updated Volume default/data@41 by volume/default/data#7 (added Volume ...)`. */
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
