import { type ApiObject, deepFreeze, type Stored } from '../object/index.js';
import type { RecordAddress } from './engine.js';

/** A living object as the store holds it: its JSON until somebody looks, then the frozen object. */
export class LazyObject<T extends ApiObject = ApiObject> implements Stored<T>, RecordAddress {
  readonly key: string;
  /** Address and checksum of the record it came from. */
  readonly revision: number;
  readonly index: number;
  readonly checksum: number;
  #form: string | T;

  constructor(key: string, address: RecordAddress, checksum: number, form: string | T) {
    this.key = key;
    this.revision = address.revision;
    this.index = address.index;
    this.checksum = checksum;
    this.#form = form;
  }

  get resourceVersion(): string {
    return String(this.revision);
  }

  get object(): T {
    if (typeof this.#form === 'string') this.#form = deepFreeze(JSON.parse(this.#form) as T);
    return this.#form;
  }

  /** Characters of its JSON while it is not parsed; afterwards nobody counts them any more. */
  get textSize(): number | undefined {
    return typeof this.#form === 'string' ? this.#form.length : undefined;
  }

  /** The object's JSON, without parsing it where it was not parsed yet. */
  get json(): string {
    return typeof this.#form === 'string' ? this.#form : JSON.stringify(this.#form);
  }
}
