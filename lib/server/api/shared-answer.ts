import type { JsonObject } from '../../rpc/index.js';

/** The encoded forms of an answer that several streams send, by the `form` of {@link encodedOnce}. */
type Forms = Map<unknown, Buffer>;

/** Invisible to encoders, which read string keys only. */
const formsOf = Symbol('encoded forms');

interface Shared {
  readonly [formsOf]?: Forms;
}

/** Marks an answer that several streams send unchanged, so that each transport encodes it once. */
export function sharedAnswer(answer: JsonObject): JsonObject {
  return Object.defineProperty({ ...answer }, formsOf, { value: new Map() });
}

/**
 * The bytes of an answer. A shared answer is encoded once per `form`, and keeps the bytes.
 * @param form identifies the encoding, such as the message type or the name of a text format
 */
export function encodedOnce(answer: JsonObject, form: unknown, make: () => Buffer): Buffer {
  const forms = (answer as Shared)[formsOf];
  if (!forms) return make();
  const known = forms.get(form);
  if (known) return known;
  const made = make();
  forms.set(form, made);
  return made;
}
