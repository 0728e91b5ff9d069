import { type ApiObject, deepFreeze, type Stored } from '../../object/index.js';
import type { EncodedRecord } from './record-codec.js';

/** The part of an object's record that is kept in memory. */
export type RecordOrigin = Omit<EncodedRecord, 'bytes'>;

/** An object in the store: its JSON until the first access, then the frozen object. */
export class LazyObject<T extends ApiObject = ApiObject> implements Stored<T>, RecordOrigin {
  readonly key: string;
  readonly revision: number;
  readonly index: number;
  readonly checksum: number;
  readonly size: number;
  #form: string | T;

  constructor(key: string, origin: RecordOrigin, form: string | T) {
    this.key = key;
    this.revision = origin.revision;
    this.index = origin.index;
    this.checksum = origin.checksum;
    this.size = origin.size;
    this.#form = form;
  }

  get resourceVersion(): string {
    return String(this.revision);
  }

  get object(): T {
    if (typeof this.#form === 'string') this.#form = deepFreeze(JSON.parse(this.#form) as T);
    return this.#form;
  }

  /** Characters of its JSON; undefined once it is parsed. */
  get textSize(): number | undefined {
    return typeof this.#form === 'string' ? this.#form.length : undefined;
  }

  /** The object's JSON; it does not parse the object. */
  get json(): string {
    return typeof this.#form === 'string' ? this.#form : JSON.stringify(this.#form);
  }
}
