import type { Clock } from 'kedge';
import type { Instance } from '../instance/kind.js';
import { nominationMs } from '../placement/index.js';

interface Seen {
  readonly uid: string;
  readonly nominatedAt: string;
  /** Monotonic time, milliseconds. */
  readonly atMs: number;
}

/**
 * The ages of nominations since this process first saw them, by its monotonic clock. The time stamp of a nomination only
 * identifies it: the clock of its writer may be wrong, or be set meanwhile. A restart begins from zero.
 */
export class NominationTimes {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #byKey = new Map<string, Seen>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /**
   * Milliseconds for which the room of an instance is still kept, 0 once its time has passed; undefined if it is not
   * nominated. The first call for a nomination begins its time.
   * @param key the key of the instance
   */
  leftMs(key: string, instance: Instance | undefined): number | undefined {
    if (!instance?.nominatedNode || instance.node !== undefined) {
      this.#byKey.delete(key);
      return undefined;
    }
    const { nominatedAt = '' } = instance;
    const { uid } = instance.metadata;
    const now = this.#clock.monotonic();
    let seen = this.#byKey.get(key);
    if (seen?.uid !== uid || seen.nominatedAt !== nominatedAt) {
      seen = { uid, nominatedAt, atMs: now };
      this.#byKey.set(key, seen);
    }
    return Math.max(0, seen.atMs + nominationMs - now);
  }
}
