import { hasCode } from '../../base/index.js';
import {
  type ApiObject,
  asObject,
  keyFor,
  keyString,
  type Kind,
  type NewObject,
  type ObjectKey,
  type Scope,
  type StatusUpdate,
  requiredUid,
  requiredVersion,
} from '../../object/index.js';
import {
  keyOfOperation,
  type ObjectOperation,
  type ObjectStore,
  type Operation,
  type OperationResult,
  type Precondition,
} from '../../store/index.js';
import { type EffectObject, effectObject, wasRecordOvertaken } from '../effects/effect-records.js';
import { type ReadSelection, TransactionReads, type Watching } from './transaction-reads.js';
import type { Transaction } from './transaction-contract.js';

/** Attempts before a conflict is returned. */
const triesMax = 16;

/** The reads and writes of an attempt, for operations that are added to its commit. */
export interface Gathered {
  readonly writes: readonly ObjectOperation[];
  readonly forgotten: readonly ForgottenEffect[];
  /** The object of a write as this attempt read it, or as it is stored; undefined if it does not exist. */
  before(write: ObjectOperation): Promise<ApiObject | undefined>;
}

/** An effect that the transaction forgets by name. */
export interface ForgottenEffect {
  readonly object: EffectObject;
  readonly name: string;
}

/** An object that a commit changed, with its versions before and after. */
export interface Written {
  readonly kind: string;
  readonly key: string;
  /** The replaced version; undefined for a creation, or if it was not read. */
  readonly before: string | undefined;
  readonly after: string;
}

class Attempt implements Transaction, Gathered {
  readonly #store: ObjectStore;
  readonly #reads = new TransactionReads();
  readonly #writes: ObjectOperation[] = [];
  readonly #forgotten: ForgottenEffect[] = [];

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  async get<T extends ApiObject>(
    kind: Kind<T>,
    key: ObjectKey,
    { watching = 'version' }: { readonly watching?: Watching } = {},
  ): Promise<T | undefined> {
    const known = this.#reads.find(kind, key, watching);
    if (known) return known.object as T | undefined;
    const object = await this.#store.get(kind, key);
    this.#reads.note(kind, key, object, watching);
    return object;
  }

  async list<T extends ApiObject>(
    kind: Kind<T>,
    selection: ReadSelection = {},
  ): Promise<readonly T[]> {
    const { watching: _watching, ...options } = selection;
    const { items, revision } = await this.#store.list<T>(kind, options);
    this.#reads.noteList(kind, selection, revision, items);
    return items;
  }

  create<T extends ApiObject, N extends Scope, C>(
    kind: Kind<T, string, string, N, C>,
    object: NoInfer<NewObject<T, N, C>>,
  ): void {
    this.#writes.push({ op: 'create', kind, object: asObject(object) });
  }

  update<T extends ApiObject>(kind: Kind<T>, object: T): void {
    const precondition = requiredVersion(kind, object);
    this.#writes.push({ op: 'update', kind, object, precondition });
  }

  overwrite<T extends ApiObject, C>(
    kind: Kind<T, string, string, Scope, C>,
    object: NoInfer<NewObject<T, Scope, C>>,
  ): void {
    this.#writes.push({ op: 'overwrite', kind, object: asObject(object) });
  }

  updateStatus<T extends ApiObject, S extends string>(
    kind: Kind<T, S>,
    key: ObjectKey,
    status: StatusUpdate<T, S>,
  ): void {
    this.#writes.push({ op: 'updateStatus', kind, key, status });
  }

  delete<T extends ApiObject>(kind: Kind<T>, object: T): void {
    const precondition = { uid: requiredUid(kind, object) };
    const key = keyFor(kind, object.namespace, object.name);
    this.#writes.push({ op: 'delete', kind, key, precondition });
  }

  deleteByName<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): void {
    this.#writes.push({ op: 'deleteByName', kind, key });
  }

  forgetEffect<T extends ApiObject>(kind: Kind<T>, object: T, name: string): void {
    this.#forgotten.push({ object: effectObject(kind, object), name });
  }

  get writes(): readonly ObjectOperation[] {
    return this.#writes;
  }

  get forgotten(): readonly ForgottenEffect[] {
    return this.#forgotten;
  }

  async before(write: ObjectOperation): Promise<ApiObject | undefined> {
    const key = keyOfOperation(write);
    // The effects of the object are checked against the version that the commit replaces.
    const read = this.#reads.find(write.kind, key, 'version');
    if (read) return read.object;
    const object = await this.#store.get<ApiObject>(write.kind, key);
    // Only an overwrite needs the check: an update is guarded by the version of its argument.
    if (write.op === 'overwrite') this.#reads.note(write.kind, key, object, 'version');
    return object;
  }

  /**
   * Commits the checks of all reads and the writes at once. `onWritten` is called as soon as the
   * store answers, because controllers that these writes trigger may query the author at once.
   */
  async commit(
    more: readonly Operation[],
    onWritten: (written: readonly Written[]) => void,
  ): Promise<void> {
    const { checks, writes } = this.#guarded();
    if (writes.length + more.length === 0) return;
    const before = [...this.#reads.checks(), ...checks];
    const results = await this.#store.transact([...before, ...writes, ...more]);
    onWritten(this.#writes.flatMap((write, i) => this.#written(write, results[before.length + i])));
  }

  /** Whether a commit was refused because of a conflict. */
  wasOvertaken(refusal: unknown): boolean {
    if (wasRecordOvertaken(refusal)) return true;
    if (!hasCode(refusal, 'NotFound') || !refusal.resource) return false;
    const { kind, ...key } = refusal.resource;
    const id = `${kind} ${keyString(key)}`;
    // The object was deleted since it was read here, or since the caller read the argument of an update or deletion.
    if (this.#reads.has(id)) return true;
    const isGuarded = ({ op }: ObjectOperation): boolean => op === 'update' || op === 'delete';
    return this.#writes.some((write) => isGuarded(write) && this.#id(write) === id);
  }

  /**
   * The guards of the writes refer to the state before the transaction: the second write to an object is guarded by
   * a check before all writes, not by the intermediate version.
   */
  #guarded(): {
    readonly checks: readonly ObjectOperation[];
    readonly writes: readonly ObjectOperation[];
  } {
    const checks: ObjectOperation[] = [];
    const written = new Set<string>();
    const writes = this.#writes.map((write): ObjectOperation => {
      const id = this.#id(write);
      const isFirst = !written.has(id);
      written.add(id);
      if (isFirst || (write.op !== 'update' && write.op !== 'delete')) return write;
      const { kind, precondition } = write;
      const read = this.#reads.versioned(kind, keyOfOperation(write));
      if (!read || !isAt(read, precondition))
        checks.push({ op: 'check', kind, key: keyOfOperation(write), precondition });
      return unguarded(write);
    });
    return { checks, writes };
  }

  #id(write: ObjectOperation): string {
    return `${write.kind.kind} ${keyString(keyOfOperation(write))}`;
  }

  #written(write: ObjectOperation, result: OperationResult | undefined): readonly Written[] {
    if (!result?.changed) return [];
    const id = this.#id(write);
    const given = 'precondition' in write ? write.precondition?.resourceVersion : undefined;
    const read = this.#reads.versioned(write.kind, keyOfOperation(write));
    const before = read?.metadata.resourceVersion ?? given;
    const key = id.slice(write.kind.kind.length + 1);
    return [{ kind: write.kind.kind, key, before, after: result.object.metadata.resourceVersion }];
  }
}

function isAt({ metadata }: ApiObject, { uid, resourceVersion }: Precondition): boolean {
  const sameVersion = resourceVersion === undefined || resourceVersion === metadata.resourceVersion;
  return uid === metadata.uid && sameVersion;
}

function unguarded(write: ObjectOperation & { op: 'update' | 'delete' }): ObjectOperation {
  const { kind } = write;
  return write.op === 'update'
    ? { op: 'overwrite', kind, object: write.object }
    : { op: 'deleteByName', kind, key: write.key };
}

/**
 * Runs `work` and commits the collected writes if its reads are still valid. After a conflict
 * `work` runs again from the start, so it must have no other side effects.
 * @throws StatusError Aborted after repeated conflicts, and errors of `work` or the store.
 */
export async function runTransaction<R>(
  store: ObjectStore,
  work: (transaction: Transaction) => R | Promise<R>,
  more: (result: R, gathered: Gathered) => readonly Operation[] | Promise<readonly Operation[]>,
  onWritten: (written: readonly Written[]) => void,
): Promise<R> {
  for (let tries = 1; ; tries += 1) {
    const attempt = new Attempt(store);
    const result = await work(attempt);
    try {
      await attempt.commit(await more(result, attempt), onWritten);
      return result;
    } catch (error) {
      if (!attempt.wasOvertaken(error) || tries >= triesMax) throw error;
      // The competing write may not be durable yet: wait until reads show it.
      await store.transact([]);
    }
  }
}
