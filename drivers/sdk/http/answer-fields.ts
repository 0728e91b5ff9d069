import { DriverError, type DriverErrorKind } from '../contract/errors.js';

/** The fields of a provider's answer, read with their types. Unknown fields are ignored. */
export class Fields {
  readonly #call: string;
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #kind: DriverErrorKind;

  /**
   * @param call the call that was answered, for messages
   * @param changes whether the call changes anything: after an unreadable answer it may have been done
   * @throws DriverError Timeout for another value, Unavailable after a read
   */
  constructor(call: string, value: unknown, changes: boolean) {
    this.#call = call;
    this.#kind = changes ? 'Timeout' : 'Unavailable';
    if (
      value !== undefined &&
      (typeof value !== 'object' || value === null || Array.isArray(value))
    )
      throw this.#unexpected('the body');
    this.#value = (value ?? {}) as Readonly<Record<string, unknown>>;
  }

  #unexpected(what: string): DriverError {
    return new DriverError(
      this.#kind,
      `the answer to ${this.#call} has an unexpected form: ${what}`,
    );
  }

  has(key: string): boolean {
    return (this.#value[key] ?? undefined) !== undefined;
  }

  text(key: string): string {
    const value = this.#value[key];
    if (typeof value !== 'string') throw this.#unexpected(key);
    return value;
  }

  optionalText(key: string): string | undefined {
    return this.has(key) ? this.text(key) : undefined;
  }

  number(key: string): number {
    const value = this.#value[key];
    if (typeof value !== 'number' || !Number.isFinite(value)) throw this.#unexpected(key);
    return value;
  }

  /** A number or text that identifies something, as text. */
  id(key: string): string {
    return this.#id(key, this.#value[key]);
  }

  #id(key: string, value: unknown): string {
    if (typeof value === 'string' && value !== '') return value;
    if (Number.isSafeInteger(value)) return String(value);
    throw this.#unexpected(key);
  }

  /** As {@link id}; undefined for null and for an absent field. */
  optionalId(key: string): string | undefined {
    return this.has(key) ? this.id(key) : undefined;
  }

  /** Identifiers; none for null. */
  ids(key: string): readonly string[] {
    const value = this.#value[key] ?? [];
    if (!Array.isArray(value)) throw this.#unexpected(key);
    return value.map((each) => this.#id(key, each));
  }

  texts(key: string): readonly string[] {
    const value = this.#value[key] ?? [];
    if (!Array.isArray(value) || !value.every((each) => typeof each === 'string'))
      throw this.#unexpected(key);
    return value;
  }

  in(key: string): Fields {
    if (!this.has(key)) throw this.#unexpected(key);
    return new Fields(this.#call, this.#value[key], this.#kind === 'Timeout');
  }

  optional(key: string): Fields | undefined {
    return this.has(key) ? this.in(key) : undefined;
  }

  /** The entries of a list. It has to be there: an answer without it says nothing about what exists. */
  list(key: string): readonly Fields[] {
    const value = this.#value[key];
    if (!Array.isArray(value)) throw this.#unexpected(key);
    return value.map((each) => new Fields(this.#call, each, this.#kind === 'Timeout'));
  }

  /** Texts by key, such as labels. */
  textMap(): Readonly<Record<string, string>> {
    return Object.fromEntries(Object.keys(this.#value).map((key) => [key, this.text(key)]));
  }

  flag(key: string): boolean {
    return this.#value[key] === true;
  }
}
