import type { AnyKind } from 'kedge';
import { usageError } from '../output/usage.js';
import { kindNamed } from './api.js';

/** An object named on the command line. */
export interface Target {
  readonly kind: AnyKind;
  readonly name: string;
}

/** The targets of a command line: whole kinds or single objects. */
export interface Named {
  readonly kinds: readonly AnyKind[];
  readonly objects: readonly Target[];
}

function pairOf(word: string): Target {
  const slash = word.indexOf('/');
  const [type, name] = [word.slice(0, slash), word.slice(slash + 1)];
  if (type === '' || name === '' || name.includes('/'))
    throw usageError(`${JSON.stringify(word)} must be TYPE/NAME, such as volume/data`);
  return { kind: kindNamed(type), name };
}

/**
 * Parses `TYPE`, `TYPE,TYPE`, `TYPE NAME...` or `TYPE/NAME...`.
 * @throws StatusError InvalidArgument for an unknown kind
 * @throws CommanderError for a mixture of the forms, an incomplete `TYPE/NAME`, or names of several types that are not in the form `TYPE/NAME`
 */
export function namedBy(words: readonly string[]): Named {
  const [first = '', ...names] = words;
  const slashed = words.filter((word) => word.includes('/'));
  if (slashed.length === words.length) return { kinds: [], objects: words.map(pairOf) };
  if (slashed.length > 0)
    throw usageError('use either TYPE NAME... or TYPE/NAME..., not both forms in one command');
  const kinds = first.split(',').filter((word) => word !== '');
  if (names.length === 0) {
    // The name of an object without its kind.
    const hint = `; an object is named by TYPE/NAME, such as service/${first}`;
    const all = kinds.map((word) => kindNamed(word, kinds.length === 1 ? hint : ''));
    return { kinds: [...new Set(all)], objects: [] };
  }
  if (kinds.length > 1)
    throw usageError(
      'write the names of objects of several types as TYPE/NAME, such as volume/data',
    );
  const kind = kindNamed(first);
  return { kinds: [], objects: names.map((name) => ({ kind, name })) };
}

/**
 * The named objects, at least one.
 * @throws CommanderError if only a kind is named, and as {@link namedBy}
 */
export function objectsNamedBy(words: readonly string[]): readonly Target[] {
  const { kinds, objects } = namedBy(words);
  const [kind] = kinds;
  if (kind) {
    const pair = `${kind.kind.toLowerCase()}/NAME`;
    // Names of objects of several types can be written only in pairs.
    const one = kinds.length > 1 ? '' : `${words[0] ?? ''} NAME, or `;
    throw usageError(`a name is missing: use ${one}${pair}`);
  }
  return objects;
}

/**
 * The name in `NAME` or `TYPE/NAME`, for commands that are limited to certain kinds.
 * @throws CommanderError for another kind or an incomplete form
 * @throws StatusError InvalidArgument for an unknown kind
 */
export function nameOf(kinds: readonly string[], word: string): string {
  if (!word.includes('/')) return word;
  const { kind, name } = pairOf(word);
  if (kinds.includes(kind.kind)) return name;
  const wanted = kinds.map((each) => each.toLowerCase()).join(' or ');
  throw usageError(
    `${JSON.stringify(word)} is a ${kind.kind.toLowerCase()}; use the name of ${withArticle(wanted)}`,
  );
}

/** A noun with its article, such as `an instance`. */
function withArticle(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
}

/** The namespace of a request for a kind; empty if the kind has none. */
export function scopeOf(kind: AnyKind, namespace: string): { readonly namespace?: string } {
  return kind.scope === 'Cluster' ? {} : { namespace };
}

/** The option that a command needs for an object of this namespace; empty for the default one and for cluster scope. */
export function namespaceOption(kind: AnyKind, namespace: string): string {
  return kind.scope === 'Cluster' || namespace === 'default' ? '' : ` -n ${namespace}`;
}

/** Returns the plural of the kind and the name, such as `volumes/data`. */
export function slashed({ kind, name }: Target): string {
  return `${kind.plural}/${name}`;
}

/**
 * Runs an action on several objects. A failure does not stop the others.
 * @throws the error of the only failure, or an AggregateError with all errors
 */
export async function forEachTarget<T extends Target>(
  targets: readonly T[],
  act: (target: T) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = [];
  for (const target of targets)
    try {
      await act(target);
    } catch (error) {
      errors.push(error);
    }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors);
}
