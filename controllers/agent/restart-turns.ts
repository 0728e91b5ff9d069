import { keyString, type ObjectKey } from 'kedge';

/**
 * Restarts of crash loops that may be under way at once on a node. Making a box takes some 30 ms of processor time,
 * so many at once keep every core from the starts of others, whatever their place in the queue.
 */
const turnsAtOnce = 2;

/**
 * Turns for the restarts of workloads that ended soon after their start. A turn ends with the reconcile that holds
 * it, used or not, and passes to whoever has waited longest. Nobody holds a worker while waiting.
 */
export class RestartTurns {
  readonly #wake: (key: ObjectKey) => void;
  readonly #held = new Set<string>();
  /** In the order of their requests. Nobody waits while a turn is free. */
  readonly #waiting = new Map<string, ObjectKey>();

  /** @param wake has the key reconciled: it holds a turn now */
  constructor(wake: (key: ObjectKey) => void) {
    this.#wake = wake;
  }

  /** Whether the key may restart its workload now. If not, it is woken when it may. */
  take(key: ObjectKey): boolean {
    const name = keyString(key);
    if (this.#held.has(name)) return true;
    if (this.#held.size >= turnsAtOnce) {
      this.#waiting.set(name, key);
      return false;
    }
    this.#held.add(name);
    return true;
  }

  /** A reconcile of the key has ended. */
  ended(key: ObjectKey): void {
    if (!this.#held.delete(keyString(key))) return;
    const [next] = this.#waiting;
    if (!next) return;
    const [name, waiting] = next;
    this.#waiting.delete(name);
    this.#held.add(name);
    this.#wake(waiting);
  }
}
