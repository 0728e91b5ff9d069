import { type FieldViolation, invalid, limits } from '../../base/index.js';
import type { AnyKind } from './kind.js';
import type { ObjectKey } from './object.js';

/** Control characters, and lone surrogates, which UTF-8 can't encode. */
const unprintable = /[\p{Cc}\p{Cs}]/u;
const shownMax = 60;

function shown(text: string): string {
  return JSON.stringify(text.length > shownMax ? `${text.slice(0, shownMax)}...` : text);
}

/** The violation of a string as one part of a key; undefined if it is valid. */
function textProblem(text: unknown, charactersMax: number): string | undefined {
  if (typeof text !== 'string') return `is of type ${typeof text}; give a string`;
  if (text === '') return 'must not be empty';
  if (text.length > charactersMax)
    return `has ${text.length} characters, and at most ${charactersMax} are allowed`;
  if (unprintable.test(text))
    return `${shown(text)} must not contain control characters or half a surrogate pair; use printable characters`;
  return undefined;
}

function namespaceProblem(namespace: unknown): string | undefined {
  const problem = textProblem(namespace, limits.nameCharactersMax);
  if (problem !== undefined || typeof namespace !== 'string') return problem;
  if (namespace.includes('/'))
    return `${shown(namespace)} must not contain a slash, which separates it from the name in keys`;
  return undefined;
}

function placeProblem({ kind, scope }: AnyKind, namespace: unknown): string | undefined {
  if (scope === 'Cluster')
    return namespace === undefined ? undefined : `must be absent: ${kind} is a cluster-scoped kind`;
  if (namespace === undefined || namespace === '')
    return `must not be empty: ${kind} is a namespaced kind; set it, for example to the namespace of the owner`;
  return namespaceProblem(namespace);
}

function nameProblem({ kind, scope, namesHoldKeys }: AnyKind, name: unknown): string | undefined {
  const charactersMax = namesHoldKeys ? limits.keyNameCharactersMax : limits.nameCharactersMax;
  const problem = textProblem(name, charactersMax);
  if (problem !== undefined || typeof name !== 'string') return problem;
  if (scope === 'Cluster' && !namesHoldKeys && name.includes('/'))
    return `${shown(name)} must not contain a slash: ${kind} is a cluster-scoped kind, and the part before it would be read as a namespace`;
  return undefined;
}

/**
 * Checks a key: the only validation of keys, for reads and writes, in process and over the API.
 * @throws StatusError InvalidArgument with all violations, for a key that no object of the kind may have: a namespace
 * that does not match the scope of the kind, or a part that is empty, longer than `limits.nameCharactersMax` (names of
 * a kind with `namesHoldKeys`: `limits.keyNameCharactersMax`), or contains a control character, half a surrogate pair,
 * or a slash where that is a separator
 */
export function requireKey(kind: AnyKind, key: ObjectKey): void {
  const violations: FieldViolation[] = [];
  const name = nameProblem(kind, key.name);
  if (name !== undefined) violations.push({ field: 'name', description: name });
  const namespace = placeProblem(kind, key.namespace);
  if (namespace !== undefined) violations.push({ field: 'namespace', description: namespace });
  if (violations.length > 0)
    throw invalid(violations, { kind: kind.kind, name: shown(String(key.name)) });
}

/**
 * Like {@link requireKey}, for the key of a lookup. Objects with keys that an earlier release accepted stay readable,
 * writable and deletable.
 * @param found the object that is stored under the key's text
 * @throws StatusError InvalidArgument for an invalid key that is not the key of `found`
 */
export function requireLookup(kind: AnyKind, key: ObjectKey, found: ObjectKey | undefined): void {
  if (found && found.name === key.name && found.namespace === key.namespace) return;
  requireKey(kind, key);
}

/**
 * Checks the parts of a key that a message to a remote store can't represent; the remote store checks the rest. In a
 * message an empty namespace means none, and half a surrogate pair is replaced.
 * @throws StatusError InvalidArgument
 */
export function requireSendable(kind: AnyKind, { name, namespace }: ObjectKey): void {
  const place = placeProblem(kind, namespace);
  if (place !== undefined) throw invalid([{ field: 'namespace', description: place }]);
  if (/\p{Cs}/u.test(name))
    requireKey(kind, namespace === undefined ? { name } : { namespace, name });
}

/** Whether a namespace may have this name. */
export function isNamespace(text: string): boolean {
  return namespaceProblem(text) === undefined;
}

/**
 * Checks the namespace of a list or watch.
 * @throws StatusError InvalidArgument for a namespace that no object of the kind may be in
 */
export function requireNamespace(kind: AnyKind, namespace: string | undefined): void {
  const description = namespace === undefined ? undefined : placeProblem(kind, namespace);
  if (description !== undefined) throw invalid([{ field: 'namespace', description }]);
}
