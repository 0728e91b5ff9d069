import type { JournaledCall } from '../errors/errors.js';

const callsMax = 20;
const objectsMax = 2_000;

/** The last 20 requests for each of the 2,000 most recently used volumes and snapshots, in memory. */
export class CallJournal {
  /** Requests by uid, those of the most recently used object last. */
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

  /** Returns the requests for the volume or snapshot with this uid, the oldest first. */
  of(uid: string): readonly JournaledCall[] {
    return this.#calls.get(uid) ?? [];
  }
}
