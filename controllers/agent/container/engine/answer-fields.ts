import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import { EngineError } from './engine-error.js';

/** Checks that an answer is an object. @throws EngineError Malformed */
export function objectOf(value: unknown, what: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new EngineError('Malformed', `the engine's answer (${what}) is not an object`);
}

/** Checks that an answer is a list of objects. @throws EngineError Malformed */
export function listOf(value: unknown, what: string): readonly JsonObject[] {
  if (Array.isArray(value)) return value.map((item) => objectOf(item, what));
  throw new EngineError('Malformed', `the engine's answer (${what}) is not a list`);
}

/** The object in a field of an answer; empty if the field has none. */
export function inside(object: JsonObject, field: string): JsonObject {
  const value = object[field];
  return isJsonObject(value) ? value : {};
}

/** Returns the text of a field. @throws EngineError Malformed if the field is absent, empty or not a text */
export function requireText(object: JsonObject, field: string): string {
  const text = textOf(object, field);
  if (text !== '') return text;
  throw new EngineError('Malformed', `the engine's answer has no ${field}`);
}

/** The number in a field of an answer; 0 if the field has none. */
export function numberOf(object: JsonObject, field: string): number {
  const value = object[field];
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** The number in a field of an answer. @throws EngineError Malformed if the field has none */
export function requireNumber(object: JsonObject, field: string): number {
  const value = object[field];
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new EngineError('Malformed', `the engine's answer has no ${field}`);
}

/** The states of a container that ran and ended. */
const ended = ['exited', 'dead'];

/**
 * The exit code in the state of a container; 0 if it is absent. @throws EngineError Malformed if the state of
 * one that ended has none: its end must not look successful
 */
export function exitCodeOf(state: JsonObject): number {
  const number = ended.includes(textOf(state, 'Status')) ? requireNumber : numberOf;
  return number(state, 'ExitCode');
}

/** The texts of the list in a field; empty if the field has no list. Other items are omitted. */
export function textsOf(object: JsonObject, field: string): readonly string[] {
  const value = object[field];
  return Array.isArray(value)
    ? value.filter((item): item is string => typeof item === 'string')
    : [];
}

/** The table of texts in a field, such as labels; empty if the field has none. Other values are omitted. */
export function tableOf(object: JsonObject, field: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(inside(object, field)).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  );
}

/**
 * A time of an answer in milliseconds since the epoch; undefined if absent, or for the engine's zero time in year 1.
 */
export function timeOf(object: JsonObject, field: string): number | undefined {
  const ms = Date.parse(textOf(object, field));
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}
