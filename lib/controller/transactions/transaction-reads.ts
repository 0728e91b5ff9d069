import {
  type AnyKind,
  type ApiObject,
  isDeleting,
  keyFor,
  namespaceIndex,
  type ObjectKey,
  valueAt,
} from '../../object/index.js';
import { objectId } from '../../object/object-id.js';
import type {
  IndexSelection,
  KindCheck,
  ListBounds,
  ObjectOperation,
  Operation,
  Precondition,
} from '../../store/index.js';

/** A status field or a nested field of it, by dotted path. */
export type StatusPath<S extends string = string> = S | `${S}.${string}`;

/**
 * The part of a read object that must be unchanged at the commit, in addition to its identity:
 *
 * - `version`: everything.
 * - `generation`: everything except status, annotations, finalizers, owner references and the expiry; a later
 *   deletion request is detected. A heartbeat causes no conflict.
 * - status fields: only their values.
 */
export type Watching<S extends string = string> =
  | 'version'
  | 'generation'
  | readonly StatusPath<S>[];

/** The objects of a list in a transaction, and their watched part. */
export type ReadSelection<I extends string = string, S extends string = string> = Pick<
  ListBounds,
  'namespace' | 'labels' | 'fields'
> &
  IndexSelection<I> & {
    /** The part of the objects that the commit checks; default `version`. */
    readonly watching?: Watching<S>;
  };

interface Read {
  readonly kind: AnyKind;
  readonly key: ObjectKey;
  /** The object that was read; undefined if it did not exist. */
  readonly object: ApiObject | undefined;
  version: boolean;
  generation: boolean;
  readonly paths: Set<string>;
}

/** The reads of an attempt and their watched parts. */
export class TransactionReads {
  readonly #objects = new Map<string, Read>();
  readonly #kinds = new Map<string, KindCheck>();

  /** The earlier read of an object, whose watched part is extended by `watching`; undefined if it was not read. */
  find(kind: AnyKind, key: ObjectKey, watching: Watching): Read | undefined {
    const read = this.#objects.get(objectId(kind, key));
    if (read) watch(read, watching);
    return read;
  }

  /** Like {@link find}, for reads whose whole version is compared. */
  versioned(kind: AnyKind, key: ObjectKey): ApiObject | undefined {
    const read = this.#objects.get(objectId(kind, key));
    return read?.version ? read.object : undefined;
  }

  /** Whether an existing object of this id was read. */
  has(id: string): boolean {
    return this.#objects.get(id)?.object !== undefined;
  }

  note(
    kind: AnyKind,
    key: ObjectKey,
    object: ApiObject | undefined,
    watching: Watching | 'nothing',
  ): void {
    const id = objectId(kind, key);
    let read = this.#objects.get(id);
    if (!read) {
      read = { kind, key, object, version: false, generation: false, paths: new Set() };
      this.#objects.set(id, read);
    }
    // The commit compares with the first read.
    watch(read, watching);
  }

  /** Records the result of a list; if the store can check its scope, new matches are detected too. */
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
      // If two lists have one scope, the check of the earlier one covers both.
      if (!this.#kinds.has(id)) this.#kinds.set(id, { op: 'checkKind', kind, revision, ...scope });
    }
    // A check of the scope detects every change of a generation.
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

/** The check with which the store detects new matches of a list; undefined if it can't detect them. */
function scopeOf(
  kind: AnyKind,
  { index, value, namespace }: ReadSelection,
): IndexSelection | undefined {
  if (index !== undefined) return { index, value };
  if (namespace !== undefined && kind.scope === 'Namespaced')
    return { index: namespaceIndex, value: namespace };
  return kind.rarelyWritten ? {} : undefined;
}
