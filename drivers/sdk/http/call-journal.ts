import type { JournaledCall } from '../contract/errors.js';

const callsMax = 20;
const objectsMax = 2_000;

/** The last calls of each volume and snapshot. */
export class CallJournal {
  /** The most recently used last. */
  readonly #calls = new Map<string, readonly JournaledCall[]>();

  add(uid: string, call: JournaledCall): void {
    const before = this.#calls.get(uid) ?? [];
    this.#calls.delete(uid);
    this.#calls.set(uid, [...before.slice(1 - callsMax), call]);
    if (this.#calls.size <= objectsMax) return;
    for (const oldest of this.#calls.keys()) {
      this.#calls.delete(oldest);
      break;
    }
  }

  /** The calls about a volume or snapshot, the oldest first. */
  of(uid: string): readonly JournaledCall[] {
    return this.#calls.get(uid) ?? [];
  }
}
