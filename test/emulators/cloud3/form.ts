import { Refusal } from './refusals.js';

/**
 * The parameters of a request, such as `Filter.1.Value.2=available`, or those of them whose names begin with a prefix.
 */
export class Form {
  readonly #values: ReadonlyMap<string, string>;
  readonly #prefix: string;

  constructor(values: ReadonlyMap<string, string>, prefix = '') {
    this.#values = values;
    this.#prefix = prefix;
  }

  static of(body: string): Form {
    return new Form(new Map(new URLSearchParams(body)));
  }

  /** The complete names of the parameters, including the prefix. */
  get names(): readonly string[] {
    return [...this.#values.keys()].filter((name) => name.startsWith(this.#prefix));
  }

  text(name: string): string | undefined {
    return this.#values.get(`${this.#prefix}${name}`);
  }

  /** @throws Refusal if it is absent or empty */
  requiredText(name: string): string {
    const value = this.text(name);
    if (value === undefined || value === '') throw new Refusal('missing', name);
    return value;
  }

  /** @throws Refusal if it is not a whole number */
  whole(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (!/^-?\d{1,15}$/.test(value))
      throw new Refusal('badValue', value, name, 'Expected a number.');
    return Number(value);
  }

  /** @throws Refusal if it is neither true nor false */
  truth(name: string): boolean | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (value !== 'true' && value !== 'false')
      throw new Refusal('badValue', value, name, "Expected 'true' or 'false'.");
    return value === 'true';
  }

  /** The values of `NAME.1`, `NAME.2` and so on. */
  texts(name: string): readonly string[] {
    return this.#numbers(name).flatMap((n) => this.text(`${name}.${n}`) ?? []);
  }

  /** The parameters below `NAME.1`, `NAME.2` and so on. */
  groups(name: string): readonly Form[] {
    return this.#numbers(name).map((n) => new Form(this.#values, `${this.#prefix}${name}.${n}.`));
  }

  #numbers(name: string): readonly number[] {
    const start = `${this.#prefix}${name}.`;
    const found = this.names
      .filter((one) => one.startsWith(start))
      .map((one) => Number(one.slice(start.length).split('.')[0]));
    return [...new Set(found)].filter((n) => n >= 1).sort((a, b) => a - b);
  }
}
