import { type BackedUpObject, failedPrecondition, messageOf, type StatusError } from 'kedge';
import { sealedValuesIn } from '../secret/sealed-values.js';
import { Sealer } from '../secret/sealer.js';

/** The key-encryption keys of a restore, and their location for messages. */
export type KeysAtHand =
  | { readonly type: 'found'; readonly keys: readonly Buffer[]; readonly place: string }
  /** There is no key yet; `place` is where one would be looked for. */
  | { readonly type: 'absent'; readonly place: string };

/** Opens every sealed value of a backup. Plaintext is not kept. */
export class SealedCheck {
  readonly #path: string;
  readonly #keys: KeysAtHand;
  readonly #sealer: Sealer | undefined;
  #values = 0;

  constructor(path: string, keys: KeysAtHand) {
    this.#path = path;
    this.#keys = keys;
    const [first, ...older] = keys.type === 'found' ? keys.keys : [];
    this.#sealer = first && new Sealer(first, ...older);
  }

  /** The number of opened values. */
  get values(): number {
    return this.#values;
  }

  /**
   * Opens and counts the sealed values of an object.
   * @throws StatusError FailedPrecondition (KeyMissing, KeyMismatch)
   */
  require({ kind, object }: BackedUpObject): void {
    for (const { sealed, place } of sealedValuesIn(kind, object)) {
      if (!this.#sealer) throw this.#missing();
      try {
        this.#sealer.open(sealed, place);
      } catch (error) {
        throw this.#mismatch(messageOf(error));
      }
      this.#values += 1;
    }
  }

  #missing(): StatusError {
    const { place } = this.#keys;
    return failedPrecondition(
      'KeyMissing',
      `backup ${this.#path} contains sealed values, and there is no key-encryption key at ${place}. Backups do not contain the key: copy the key of the original to that path, or set [secrets].kekFile to a copy. Nothing was changed`,
    );
  }

  #mismatch(detail: string): StatusError {
    const { place } = this.#keys;
    return failedPrecondition(
      'KeyMismatch',
      `the key-encryption key at ${place} can't open the values of backup ${this.#path} (${detail}); copy the key that was in use at the time of the backup to that path, or set [secrets].kekFile to a copy. Nothing was changed`,
    );
  }
}
