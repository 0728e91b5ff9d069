import { StatusError } from 'kedge';
import {
  DriverError,
  holdsSecret,
  isPending,
  type JournaledCall,
  maskSecrets,
  type Parameters,
} from '@kedge/driver-sdk';
import { mask } from './sealer.js';

/** Values up to this length are redacted only as whole words: redacting parts of words would garble texts. */
const shortMax = 3;

/**
 * The plaintext values of the sealed literals and secret references among a call's parameters, which must not be
 * disclosed.
 */
export class Redaction {
  readonly #values: readonly string[];

  /** @param wanted the parameters as stored. @param resolved the same in plaintext */
  constructor(wanted: Parameters, resolved: Parameters) {
    const values = Object.entries(resolved)
      .filter(([key, value]) => value !== '' && wanted[key] !== value)
      .map(([, value]) => value);
    // Longer values first: one may contain another.
    this.#values = [...new Set(values)].sort((a, b) => b.length - a.length);
  }

  /** Whether a text contains one of the values that are longer than {@link shortMax}. */
  holds(text: string): boolean {
    return this.#values.some((value) => value.length > shortMax && holdsSecret(text, value));
  }

  /** A text with a mask in place of each value, in the forms of {@link maskSecrets}. */
  text(text: string): string {
    const long = this.#values.filter(({ length }) => length > shortMax);
    return this.#values.slice(long.length).reduce(
      (reported, value) => {
        const word = new RegExp(`(?<!\\w)${quoted(value)}(?!\\w)`, 'g');
        return reported.replaceAll(word, mask);
      },
      maskSecrets(text, long, mask),
    );
  }

  /** A redacted error without its cause, which may contain the values. A StatusError is returned unchanged. */
  error(thrown: unknown): unknown {
    if (this.#values.length === 0 || thrown instanceof StatusError) return thrown;
    const error = DriverError.from(thrown);
    const { kind, message, retryAfterMs, operation, requestId, remedy, limit, calls } = error;
    return new DriverError(kind, this.text(message), {
      retryElsewhere: error.retryElsewhere,
      ...(requestId === undefined ? {} : { requestId: this.text(requestId) }),
      ...(remedy === undefined ? {} : { remedy: this.text(remedy) }),
      ...(limit === undefined ? {} : { limit }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(operation === undefined ? {} : { operation: this.text(operation) }),
      calls: this.calls(calls),
    });
  }

  /** Calls of a provider, whose queries may contain the values. */
  calls(calls: readonly JournaledCall[]): readonly JournaledCall[] {
    return calls.map((call) => ({ ...call, path: this.text(call.path) }));
  }

  /**
   * Runs work whose errors and Pending answers may contain the values, and redacts them.
   * @throws the errors redacted by {@link error}
   */
  async guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      const answer = await work();
      if (!isPending(answer) || answer.calls === undefined) return answer;
      return { ...answer, calls: this.calls(answer.calls) };
    } catch (thrown) {
      throw this.error(thrown);
    }
  }
}

function quoted(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
