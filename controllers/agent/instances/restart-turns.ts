import { keyString, type ObjectKey } from 'kedge';

/**
 * Maximum concurrent restarts of crash-looping workloads on a node. Creating a sandbox takes CPU time: more of them at
 * once would delay other starts regardless of queue priority.
 */
const turnsAtOnce = 2;

interface Waiting {
  readonly key: ObjectKey;
  readonly crashes: number;
}

/**
 * Admits restarts of workloads that ended soon after their start. A turn ends with the reconcile that holds it, used or
 * not. The next turn alternates between the key with the fewest crashes, so that a first restart does not wait behind
 * hundreds of crash loops, and the key that waited longest, which prevents starvation. Waiting keys occupy no worker.
 */
export class RestartTurns {
  readonly #wake: (key: ObjectKey) => void;
  readonly #held = new Set<string>();
  /** In order of requests. Keys wait only while no turn is free. */
  readonly #waiting = new Map<string, Waiting>();
  #byAge = false;

  /** @param wake queues a key that has got a turn */
  constructor(wake: (key: ObjectKey) => void) {
    this.#wake = wake;
  }

  /**
   * Takes a turn, and returns whether the key has one and may restart its workload now. Otherwise `wake` is called once
   * the key has a turn.
   * @param crashes the number of the workload's consecutive short runs
   */
  take(key: ObjectKey, crashes: number): boolean {
    const name = keyString(key);
    if (this.#held.has(name)) return true;
    if (this.#held.size >= turnsAtOnce) {
      this.#waiting.set(name, { key, crashes });
      return false;
    }
    this.#held.add(name);
    return true;
  }

  /** Ends the turn of a key after its reconcile, and gives it to the next waiting key. */
  ended(key: ObjectKey): void {
    if (!this.#held.delete(keyString(key))) return;
    const next = this.#next();
    if (!next) return;
    const name = keyString(next);
    this.#waiting.delete(name);
    this.#held.add(name);
    this.#wake(next);
  }

  #next(): ObjectKey | undefined {
    const [oldest, ...others] = this.#waiting.values();
    if (!oldest) return undefined;
    const byAge = this.#byAge;
    this.#byAge = !byAge;
    if (byAge) return oldest.key;
    return others.reduce((least, other) => (other.crashes < least.crashes ? other : least), oldest)
      .key;
  }
}
