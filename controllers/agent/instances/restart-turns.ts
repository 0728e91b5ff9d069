import { keyString, type ObjectKey } from 'kedge';

/**
 * Restarts of crash loops that may be under way at once on a node. Making a box takes some 30 ms of processor time,
 * so many at once keep every core from the starts of others, whatever their place in the queue.
 */
const turnsAtOnce = 2;

interface Waiting {
  readonly key: ObjectKey;
  readonly crashes: number;
}

/**
 * Turns for the restarts of workloads that ended soon after their start. A turn ends with the reconcile that holds
 * it, used or not. It passes to whoever has crashed least, so that a first restart is not behind hundreds of crash
 * loops; every other one passes to whoever has waited longest, so that everyone gets one. Nobody holds a worker while
 * waiting.
 */
export class RestartTurns {
  readonly #wake: (key: ObjectKey) => void;
  readonly #held = new Set<string>();
  /** In the order of their requests. Nobody waits while a turn is free. */
  readonly #waiting = new Map<string, Waiting>();
  #byAge = false;

  /** @param wake has the key reconciled: it holds a turn now */
  constructor(wake: (key: ObjectKey) => void) {
    this.#wake = wake;
  }

  /**
   * Whether the key may restart its workload now. If not, it is woken when it may.
   * @param crashes its short runs in a row
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

  /** A reconcile of the key has ended. */
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
