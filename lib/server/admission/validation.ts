import { after, type Later, promised } from '../../base/promises/later.js';
import {
  type AnyKind,
  type ApiObject,
  fieldsOf,
  isDeleting,
  keyString,
  type Kind,
  type ObjectKey,
} from '../../object/index.js';
import type { ListResult, Operation, StoreReader } from '../../store/index.js';
import type { AdmissionContext, LookupOptions } from '../api/admission-rules.js';
import type { AccessControl, Identity } from '../auth/index.js';
import type { ObjectAccess } from '../api/object-access.js';
import { type Seen, seenObject } from '../api/seen-object.js';
import { Staging } from './staging.js';

/** Options of validations: the store and the writer. */
export interface ValidationOptions {
  readonly store: Pick<StoreReader, 'get' | 'list'>;
  readonly authorizer: AccessControl;
  readonly objectAccess?: ObjectAccess | undefined;
}

interface ObjectRead {
  readonly kind: AnyKind;
  readonly key: ObjectKey;
  readonly object: ApiObject | undefined;
}

interface KindRead {
  readonly kind: AnyKind;
  readonly by: { readonly index: string; readonly value: string } | undefined;
  readonly list: ListResult<ApiObject>;
}

/**
 * One attempt to validate a write or a set of writes: it reads each object and list once, and records the checks
 * for the commit. Rules read only through it.
 */
export class Validation implements AdmissionContext {
  readonly identity: Identity;
  /** The state after the writes validated so far. */
  readonly staging = new Staging();
  readonly #options: ValidationOptions;
  readonly #objects = new Map<string, Later<ObjectRead>>();
  /** Made by the first list: most writes read none. */
  #kinds: Map<string, Promise<KindRead>> | undefined;
  /** The status fields that rules read, by the id of the object; made by the first one. */
  #statusRead: Map<string, Set<string>> | undefined;
  /** The reads that the commit checks, in order. */
  readonly #reads = new Map<string, ObjectRead | KindRead>();

  constructor(options: ValidationOptions, identity: Identity) {
    this.#options = options;
    this.identity = identity;
  }

  /**
   * A stored object or undefined, read once without a check: for the written object itself, which its own operation
   * guards.
   */
  stored<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): Later<T | undefined> {
    return after(this.#object(kind, key), ({ object }) => object as T | undefined);
  }

  lookup<T extends ApiObject, S extends string, P extends S = never>(
    kind: Kind<T, S>,
    key: ObjectKey,
    { status = [] }: LookupOptions<P> = {},
  ): Promise<Seen<T, S, P> | undefined> {
    return promised(() =>
      after(this.#object(kind, key), (read) => {
        this.#noteStatus(read, status);
        const { staging } = this;
        const object = staging.has(kind, key) ? staging.get(kind, key) : read.object;
        return object && (seenObject(kind, object, status) as Seen<T, S, P>);
      }),
    );
  }

  async lookupAll<T extends ApiObject, S extends string>(
    kind: Kind<T, S>,
  ): Promise<readonly Seen<T, S>[]> {
    const { list } = await this.#list(kind, undefined);
    const objects = this.staging.all(kind, list.items);
    return objects.map((object) => seenObject(kind, object, []) as Seen<T, S>);
  }

  async lookupBy<T extends ApiObject, S extends string, I extends string, P extends S = never>(
    kind: Kind<T, S, I>,
    index: NoInfer<I> | 'namespace',
    value: string,
    { status = [] }: LookupOptions<P> = {},
  ): Promise<readonly Seen<T, S, P>[]> {
    const { list } = await this.#list(kind, { index, value });
    if (status.length > 0)
      for (const object of list.items)
        this.#noteStatus({ kind, key: keyIn(kind, object), object }, status);
    const objects = this.staging.under(kind, index, value, list.items);
    return objects.map((object) => seenObject(kind, object, status) as Seen<T, S, P>);
  }

  can(resource: string, verb: string, namespace: string | undefined): Promise<boolean> {
    return this.#options.authorizer.can(this.identity, { resource, verb, namespace });
  }

  async reveals<T extends ApiObject>({ plural: resource }: Kind<T>, object: T): Promise<boolean> {
    const { authorizer, objectAccess } = this.#options;
    const access = { resource, verb: 'reveal', namespace: object.namespace };
    if (!(await authorizer.can(this.identity, access))) return false;
    const filter = objectAccess?.filterFor(this.identity);
    return (await filter?.allows(resource, 'reveal', object)) ?? true;
  }

  /**
   * The checks of the commit. They come first in the transaction, because a check of a written object refers to the
   * state before.
   */
  checks(): readonly Operation[] {
    const checks: Operation[] = [];
    for (const [id, read] of this.#reads)
      checks.push(
        'list' in read ? kindCheck(read) : objectCheck(read, this.#statusRead?.get(id) ?? noStatus),
      );
    return checks;
  }

  #object(kind: AnyKind, key: ObjectKey): Later<ObjectRead> {
    const id = `${kind.kind} ${keyString(key)}`;
    const known = this.#objects.get(id);
    if (known) return known;
    const read = after(this.#options.store.get(kind, key), (object) => ({ kind, key, object }));
    this.#objects.set(id, read);
    return read;
  }

  #list(kind: AnyKind, by: KindRead['by']): Promise<KindRead> {
    const id = listId(kind, by);
    const kinds = (this.#kinds ??= new Map<string, Promise<KindRead>>());
    const known = kinds.get(id);
    if (known) return known;
    const reading = this.#options.store.list(kind, by ?? {}).then((list) => {
      const read = { kind, by, list };
      this.#reads.set(id, read);
      return read;
    });
    kinds.set(id, reading);
    return reading;
  }

  #noteStatus(read: ObjectRead, status: readonly string[]): void {
    const id = `${read.kind.kind} ${keyString(read.key)}`;
    if (!this.#reads.has(id)) this.#reads.set(id, read);
    if (status.length === 0) return;
    const statusRead = (this.#statusRead ??= new Map<string, Set<string>>());
    const named = statusRead.get(id);
    if (!named) statusRead.set(id, new Set(status));
    else for (const field of status) named.add(field);
  }
}

const noStatus: ReadonlySet<string> = new Set();

/** The id of a list, distinct from all object keys and other lists: keys and index names contain no NUL. */
function listId({ kind }: AnyKind, by: KindRead['by']): string {
  return [kind, ...(by ? [by.index, by.value] : [''])].join('\0');
}

function keyIn(kind: AnyKind, { namespace, name }: ApiObject): ObjectKey {
  return kind.scope === 'Cluster' || namespace === undefined ? { name } : { namespace, name };
}

function kindCheck({ kind, by, list }: KindRead): Operation {
  return { op: 'checkKind', kind, revision: list.revision, ...by };
}

function objectCheck({ kind, key, object }: ObjectRead, status: ReadonlySet<string>): Operation {
  if (!object) return { op: 'check', kind, key, precondition: { exists: false } };
  const { uid, generation } = object.metadata;
  const state = isDeleting(object)
    ? { uid, generation }
    : { uid, generation, deleting: false as const };
  if (status.size === 0) return { op: 'check', kind, key, precondition: state };
  const given = fieldsOf(object);
  const fields = Object.fromEntries([...status].map((name) => [name, given[name]]));
  return { op: 'check', kind, key, precondition: { ...state, fields } };
}
