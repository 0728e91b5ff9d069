import {
  type AnyKind,
  type ApiObject,
  hasCode,
  keyOf,
  type Kind,
  type Logger,
  type ObjectStore,
  type Operation,
} from 'kedge';
import { placesIn } from './sealed-values.js';
import { isSealed, type Place, type Sealer } from './sealer.js';

/** The source of key-encryption keys. */
export interface KeySource {
  /**
   * Returns the keys after a rotation: the first seals, all open. Creates a new first key if the daemon manages the
   * keys.
   * @throws StatusError FailedPrecondition if the keys can't be read, Unavailable if a new one can't be written,
   * InvalidArgument for a key of another length
   */
  next(): Promise<readonly Buffer[]>;
  /** Called once all values are sealed with the first key. The other keys serve calls in progress. */
  settled(keys: readonly Buffer[]): Promise<void>;
}

/** Options of a rotation. */
export interface KeyRotationOptions {
  readonly store: ObjectStore;
  readonly sealer: Sealer;
  readonly keys: KeySource;
  /** Kinds whose objects may contain sealed values. */
  readonly kinds: readonly AnyKind[];
  readonly logger: Logger;
}

const pageSize = 200;
const triesMax = 16;
/** Number of older keys that are kept after a rotation. The next rotation reseals their values. */
const olderKeysMax = 2;

/** Rotates the key-encryption key at run time. A repeated call completes an interrupted rotation. */
export class KeyRotation {
  readonly #options: KeyRotationOptions;
  #running: Promise<{ readonly keyId: string; readonly resealed: number }> | undefined;

  constructor(options: KeyRotationOptions) {
    this.#options = options;
  }

  /**
   * Rotates the key, and seals all values of earlier keys again. A concurrent call joins the running rotation.
   * @throws StatusError as {@link KeySource.next}; Internal (UnsealFailed) for a value that none of the keys opens
   */
  rotate(): Promise<{ readonly keyId: string; readonly resealed: number }> {
    this.#running ??= this.#rotate().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #rotate(): Promise<{ readonly keyId: string; readonly resealed: number }> {
    const { keys, sealer, kinds, logger } = this.#options;
    const [first, ...older] = await keys.next();
    if (!first) throw new TypeError('there is no key-encryption key');
    sealer.use(first, ...older);
    let resealed = 0;
    for (const kind of kinds) resealed += await this.#reseal(kind);
    // An earlier driver call may still store parameters that were sealed with the old key.
    const kept = [first, ...older.slice(0, olderKeysMax)];
    await keys.settled(kept);
    sealer.use(first, ...kept.slice(1));
    logger.info('values are sealed with another key', { keyId: sealer.keyId, objects: resealed });
    return { keyId: sealer.keyId, resealed };
  }

  async #reseal(kind: Kind): Promise<number> {
    const { store } = this.#options;
    let count = 0;
    let pageToken = '';
    do {
      const more = pageToken === '' ? {} : { pageToken };
      const page = await store.list(kind, { limit: pageSize, ...more });
      for (const object of page.items) if (await this.#resealOne(kind, object)) count += 1;
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    // Objects may be written meanwhile with the old key: repeat until none is found.
    if (count > 0) count += await this.#reseal(kind);
    return count;
  }

  async #resealOne(kind: Kind, listed: ApiObject): Promise<boolean> {
    const { store } = this.#options;
    let object: ApiObject | undefined = listed;
    for (let tries = 1; object; tries += 1) {
      const fresh: ApiObject = this.#fresh(kind, object);
      if (fresh === object) return false;
      try {
        await store.transact(operations(kind, object, fresh));
        return true;
      } catch (error) {
        if (hasCode(error, 'NotFound')) return false;
        if (!hasCode(error, 'Aborted') || tries >= triesMax) throw error;
      }
      // Wait until the competing write is visible.
      await store.transact([]);
      object = await store.get(kind, keyOf(object));
    }
    return false;
  }

  /** The object with every outdated value resealed; the object itself if it has none. */
  #fresh(kind: Kind, object: ApiObject): ApiObject {
    const { sealer } = this.#options;
    let changed = false;
    const walk = (value: unknown, key: string, place: (key: string) => Place): unknown => {
      if (typeof value === 'string') {
        if (!isSealed(value) || !sealer.isOutdated(value)) return value;
        changed = true;
        return sealer.reseal(value, place(key));
      }
      if (Array.isArray(value)) return value.map((item: unknown) => walk(item, key, place));
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, walk(v, k, place)]));
    };
    const fresh = walk(object, '', placesIn(kind.kind, object)) as ApiObject;
    return changed ? fresh : object;
  }
}

function operations(kind: Kind, object: ApiObject, fresh: ApiObject): readonly Operation[] {
  const { uid, resourceVersion } = object.metadata;
  const known = kind;
  const status = Object.fromEntries(
    Object.entries(fresh).filter(([field]) => known.statusFields.includes(field)),
  );
  return [
    { op: 'update', kind: known, object: fresh, precondition: { uid, resourceVersion } },
    { op: 'updateStatus', kind: known, key: keyOf(object), status },
  ];
}
