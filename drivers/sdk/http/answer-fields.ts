import { DriverError, type DriverErrorKind } from '../errors/errors.js';
import { answerUnreadable } from '../messages/index.js';

/**
 * Reads typed fields of a provider's answer and ignores other fields. Methods throw DriverError for a field of another
 * type: Timeout if the answered call may have changed something, Unavailable if it was a read. A method throws the same
 * for an absent field unless its name or docstring says otherwise.
 */
export class Fields {
  readonly #call: string;
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #kind: DriverErrorKind;

  /**
   * @param call name of the answered call, for messages
   * @param value the parsed answer; undefined for an empty one, which has no fields
   * @param changes whether the call changes something at the provider
   * @throws DriverError if the value is not an object
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
      `${this.#call}: ${answerUnreadable.format()} unexpected form of ${what}`,
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

  /** Returns a time that an SDK has parsed, milliseconds since the epoch. */
  time(key: string): number {
    const value = this.#value[key];
    if (!(value instanceof Date) || Number.isNaN(value.getTime())) throw this.#unexpected(key);
    return value.getTime();
  }

  /** Returns an identifier, which is an integer or a text in the answer, as text. */
  id(key: string): string {
    return this.#id(key, this.#value[key]);
  }

  #id(key: string, value: unknown): string {
    if (typeof value === 'string' && value !== '') return value;
    if (Number.isSafeInteger(value)) return String(value);
    throw this.#unexpected(key);
  }

  /** Like {@link id}, but returns undefined for null and for an absent field. */
  optionalId(key: string): string | undefined {
    return this.has(key) ? this.id(key) : undefined;
  }

  /** Returns a list of identifiers; an empty one for null and for an absent field. */
  ids(key: string): readonly string[] {
    const value = this.#value[key] ?? [];
    if (!Array.isArray(value)) throw this.#unexpected(key);
    return value.map((each) => this.#id(key, each));
  }

  /** Returns a list of texts; an empty one for null and for an absent field. */
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

  /** Returns the entries of a list. An absent list is an error: it does not mean that nothing exists. */
  list(key: string): readonly Fields[] {
    const value = this.#value[key];
    if (!Array.isArray(value)) throw this.#unexpected(key);
    return value.map((each) => new Fields(this.#call, each, this.#kind === 'Timeout'));
  }

  /** Returns all fields as texts by key, for example labels. */
  textMap(): Readonly<Record<string, string>> {
    return Object.fromEntries(Object.keys(this.#value).map((key) => [key, this.text(key)]));
  }

  /** Whether a field is true; false for any other value and for an absent field. Never throws. */
  flag(key: string): boolean {
    return this.#value[key] === true;
  }
}
