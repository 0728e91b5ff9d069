import { StatusError } from 'kedge';
import { DriverError, type Parameters } from '@kedge/driver-sdk';
import { mask } from './sealer.js';

/** Shorter values are replaced as whole words only: as parts of words they say nothing. */
const shortMax = 3;

/** The values that a call's parameters hold in plaintext, and that nothing may tell. */
export class Redaction {
  readonly #values: readonly string[];

  /** @param wanted the parameters as stored. @param resolved the same in plaintext */
  constructor(wanted: Parameters, resolved: Parameters) {
    const values = Object.entries(resolved)
      .filter(([key, value]) => value !== '' && wanted[key] !== value)
      .flatMap(([, value]) => [
        value,
        // As providers and JSON quote them.
        encodeURIComponent(value),
        JSON.stringify(value).slice(1, -1),
      ]);
    // The longer first: one may be part of another.
    this.#values = [...new Set(values)].sort((a, b) => b.length - a.length);
  }

  /** Whether a text tells one of the values. */
  holds(text: string): boolean {
    return this.#values.some((value) => value.length > shortMax && text.includes(value));
  }

  /** A text with a mask in place of each value. */
  text(text: string): string {
    return this.#values.reduce((told, value) => {
      if (value.length > shortMax) return told.replaceAll(value, mask);
      const word = new RegExp(`(?<!\\w)${quoted(value)}(?!\\w)`, 'g');
      return told.replaceAll(word, mask);
    }, text);
  }

  /** What may be told of an error: without its cause, which says the same in other words. */
  error(thrown: unknown): unknown {
    if (this.#values.length === 0 || thrown instanceof StatusError) return thrown;
    const { kind, message, retryAfterMs, operation } = DriverError.from(thrown);
    return new DriverError(kind, this.text(message), {
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(operation === undefined ? {} : { operation: this.text(operation) }),
    });
  }

  /** Runs work whose errors may hold the values. @throws what {@link error} makes of them */
  async guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      throw this.error(thrown);
    }
  }
}

function quoted(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
