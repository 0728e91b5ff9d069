import type {
  DescMessage,
  JsonObject,
  MethodInfo,
  SchemaRegistry,
  StandardVerb,
} from '../../rpc/index.js';
import { RecentCache } from '../objects/recent-cache.js';

/** Maximum number of cached encoded answers of Get. */
const keptMax = 1_024;
/** Maximum bytes of all cached answers; enough for the largest object. */
const keptBytesMax = 33_554_432;

/** Encodes answers; an object that is read again and again is encoded once. */
export class AnswerEncoder {
  readonly #schemas: SchemaRegistry;
  readonly #kept = new RecentCache<JsonObject, Uint8Array>(keptMax, {
    of: ({ length }) => length,
    max: keptBytesMax,
  });

  constructor(schemas: SchemaRegistry) {
    this.#schemas = schemas;
  }

  /**
   * Encodes an answer of a method.
   * @param mayKeep false for answers that must not stay in memory, such as revealed secrets
   */
  encode(method: MethodInfo, answer: JsonObject, mayKeep = true): Buffer {
    const verb = method.standard?.verb;
    const bytes = this.#bytes(method.output, verb, answer, mayKeep);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  #bytes(
    output: DescMessage,
    verb: StandardVerb | undefined,
    answer: JsonObject,
    mayKeep: boolean,
  ): Uint8Array {
    // Its objects have the form of the store.
    if (verb === 'Watch') return this.#schemas.encodeStored(output, answer);
    if (verb !== 'Get' || !mayKeep) return this.#schemas.encodeAnswer(output, answer);
    return this.#kept.of(answer, () => this.#schemas.encodeAnswer(output, answer));
  }
}
