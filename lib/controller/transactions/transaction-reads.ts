import {
  type AnyKind,
  type ApiObject,
  isDeleting,
  keyFor,
  keyString,
  namespaceIndex,
  type ObjectKey,
  valueAt,
} from '../../object/index.js';
import type {
  IndexSelection,
  KindCheck,
  ListBounds,
  ObjectOperation,
  Operation,
  Precondition,
} from '../../store/index.js';

/** A status field, or what is in one, by dotted path. */
export type StatusPath<S extends string = string> = S | `${S}.${string}`;

/**
 * What of an object that was read must still be so when the transaction commits, beside its identity:
 *
 * - `version`: everything.
 * - `generation`: everything but status, annotations, finalizers, owner references and the expiry, and that no
 *   deletion was asked for since. A heartbeat does not make the work run again.
 * - status fields: their values, and nothing else.
 */
export type Watching<S extends string = string> =
  | 'version'
  | 'generation'
  | readonly StatusPath<S>[];

/** Which objects a list of a transaction covers, and what of each must still be so. */
export type ReadSelection<I extends string = string, S extends string = string> = Pick<
  ListBounds,
  'namespace' | 'labels' | 'fields'
> &
  IndexSelection<I> & {
    /** Default `version`. */
    readonly watching?: Watching<S>;
  };

interface Read {
  readonly kind: AnyKind;
  readonly key: ObjectKey;
  /** Undefined: it was not there. */
  readonly object: ApiObject | undefined;
  version: boolean;
  generation: boolean;
  readonly paths: Set<string>;
}

function idOf(kind: AnyKind, key: ObjectKey): string {
  return `${kind.kind} ${keyString(key)}`;
}

/** What an attempt has read, and what the commit compares of it. */
export class TransactionReads {
  readonly #objects = new Map<string, Read>();
  readonly #kinds = new Map<string, KindCheck>();

  /** What was read before; `watching` adds to what is compared of it. */
  find(kind: AnyKind, key: ObjectKey, watching: Watching): Read | undefined {
    const read = this.#objects.get(idOf(kind, key));
    if (read) watch(read, watching);
    return read;
  }

  /** As {@link find}, only where the whole version is compared. */
  versioned(kind: AnyKind, key: ObjectKey): ApiObject | undefined {
    const read = this.#objects.get(idOf(kind, key));
    return read?.version ? read.object : undefined;
  }

  /** Whether an object was read that was there. */
  has(id: string): boolean {
    return this.#objects.get(id)?.object !== undefined;
  }

  note(
    kind: AnyKind,
    key: ObjectKey,
    object: ApiObject | undefined,
    watching: Watching | 'nothing',
  ): void {
    const id = idOf(kind, key);
    let read = this.#objects.get(id);
    if (!read) {
      read = { kind, key, object, version: false, generation: false, paths: new Set() };
      this.#objects.set(id, read);
    }
    // What an earlier read saw is what the commit is judged by.
    watch(read, watching);
  }

  /** What a list gave; where the store can check it, what was not in it is watched too. */
  noteList(
    kind: AnyKind,
    selection: ReadSelection,
    revision: number,
    objects: readonly ApiObject[],
  ): void {
    const { watching = 'version' } = selection;
    const scope = scopeOf(kind, selection);
    if (scope) {
      const id = [kind.kind, scope.index ?? '', scope.value ?? ''].join('\0');
      // Of two lists of one scope the earlier one covers both.
      if (!this.#kinds.has(id)) this.#kinds.set(id, { op: 'checkKind', kind, revision, ...scope });
    }
    // A check of the scope sees every change of a generation.
    const rest = scope && watching === 'generation' ? 'nothing' : watching;
    for (const object of objects)
      this.note(kind, keyFor(kind, object.namespace, object.name), object, rest);
  }

  checks(): readonly Operation[] {
    const objects = [...this.#objects.values()].flatMap((read): ObjectOperation[] => {
      const precondition = preconditionOf(read);
      return precondition ? [{ op: 'check', kind: read.kind, key: read.key, precondition }] : [];
    });
    return [...this.#kinds.values(), ...objects];
  }
}

function watch(read: Read, watching: Watching | 'nothing'): void {
  if (watching === 'nothing') return;
  if (watching === 'version') read.version = true;
  else if (watching === 'generation') read.generation = true;
  else for (const path of watching) read.paths.add(path);
}

function preconditionOf({ object, version, generation, paths }: Read): Precondition | undefined {
  if (!object) return { exists: false };
  const { metadata } = object;
  const { uid } = metadata;
  if (version) return { uid, resourceVersion: metadata.resourceVersion };
  if (!generation && paths.size === 0) return undefined;
  const values = [...paths].map((path) => [path, valueAt(object, path)] as const);
  return {
    uid,
    ...(generation ? { generation: metadata.generation } : {}),
    ...(generation && !isDeleting(object) ? { deleting: false } : {}),
    ...(paths.size > 0 ? { fields: Object.fromEntries(values) } : {}),
  };
}

/** What a store can check of a list, so that an object which comes to match is noticed. */
function scopeOf(
  kind: AnyKind,
  { index, value, namespace }: ReadSelection,
): IndexSelection | undefined {
  if (index !== undefined) return { index, value };
  if (namespace !== undefined && kind.scope === 'Namespaced')
    return { index: namespaceIndex, value: namespace };
  return kind.rarelyWritten ? {} : undefined;
}
