import { hasCode } from '../base/index.js';
import {
  type AnyKind,
  type ApiObject,
  asObject,
  keyFor,
  keyString,
  type Kind,
  type NewObject,
  type ObjectKey,
  type Scope,
  type StatusUpdate,
  type ObjectVersion,
  requiredUid,
  requiredVersion,
} from '../object/index.js';
import {
  keyOfOperation,
  type ListOptions,
  type ObjectOperation,
  type ObjectStore,
  type Operation,
  type OperationResult,
  type Precondition,
} from '../store/index.js';
import { type EffectObject, effectObject, wasRecordOvertaken } from './effect-records.js';

/** Times that conflicting work is done again before the conflict is given back. */
const triesMax = 16;

/** Gathers reads and writes of one attempt; nothing is written before it is committed. */
export interface Transaction {
  /** The object as the store has it; committing fails when it is another by then. */
  get<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): Promise<T | undefined>;
  /**
   * The objects of a kind as the store has them, all of one revision; committing fails when one of them
   * is another by then, or is gone. An object that comes to match meanwhile is not noticed: where that
   * matters, let whoever creates such objects also write an object that you read with `get`. Each
   * listed object counts as an operation of the transaction (`limits.transactionOperationsMax`).
   */
  list<T extends ApiObject>(
    kind: Kind<T>,
    selection?: Pick<ListOptions, 'namespace' | 'labels' | 'fields'>,
  ): Promise<readonly T[]>;
  create<T extends ApiObject, N extends Scope, C>(
    kind: Kind<T, string, string, N, C>,
    object: NoInfer<NewObject<T, N, C>>,
  ): void;
  /**
   * Replaces everything but status. Committing fails when the stored object is not in the version of
   * `object` any more, also when this transaction read a newer one.
   */
  update<T extends ApiObject>(kind: Kind<T>, object: T): void;
  /** As `update`, over whatever version is stored. */
  overwrite<T extends ApiObject, C>(
    kind: Kind<T, string, string, Scope, C>,
    object: NoInfer<NewObject<T, Scope, C>>,
  ): void;
  /** Sets these status fields, keeps the others. */
  updateStatus<T extends ApiObject, S extends string>(
    kind: Kind<T, S>,
    key: ObjectKey,
    status: StatusUpdate<T, S>,
  ): void;
  /** Deletes this object; committing fails when another one has its name by then. */
  delete<T extends ApiObject>(kind: Kind<T>, object: T): void;
  /** Deletes whatever object has this name. */
  deleteByName<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): void;
  /**
   * Forgets an effect of this object, whatever its state: the caller has seen what became of the call,
   * for example that nothing was made. No-op when there is none.
   */
  forgetEffect<T extends ApiObject>(kind: Kind<T>, object: T, name: string): void;
}

/** What an attempt has gathered, for what is committed with it. */
export interface Gathered {
  readonly writes: readonly ObjectOperation[];
  readonly forgotten: readonly ForgottenEffect[];
  /** The object that a write changes, as this attempt has read it or as it is stored. */
  before(write: ObjectOperation): Promise<ApiObject | undefined>;
}

/** An effect that the transaction forgets by name. */
export interface ForgottenEffect {
  readonly object: EffectObject;
  readonly name: string;
}

/** What a commit wrote: version by version. */
export interface Written {
  readonly kind: string;
  readonly key: string;
  /** Version replaced; undefined for a creation, or where it was not read. */
  readonly before: string | undefined;
  readonly after: string;
}

interface Read {
  readonly kind: AnyKind;
  readonly key: ObjectKey;
  /** Undefined: it was not there. */
  readonly object: ApiObject | undefined;
}

class Attempt implements Transaction, Gathered {
  readonly #store: ObjectStore;
  readonly #reads = new Map<string, Read>();
  readonly #writes: ObjectOperation[] = [];
  readonly #forgotten: ForgottenEffect[] = [];

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  async get<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): Promise<T | undefined> {
    const id = `${kind.kind} ${keyString(key)}`;
    const known = this.#reads.get(id);
    if (known) return known.object as T | undefined;
    const object = await this.#store.get(kind, key);
    this.#reads.set(id, { kind, key, object });
    return object;
  }

  async list<T extends ApiObject>(
    kind: Kind<T>,
    { namespace, labels, fields }: Pick<ListOptions, 'namespace' | 'labels' | 'fields'> = {},
  ): Promise<readonly T[]> {
    const { items } = await this.#store.list(kind, {
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels ? { labels } : {}),
      ...(fields ? { fields } : {}),
    });
    for (const object of items) {
      const key = keyFor(kind, object.namespace, object.name);
      const id = `${kind.kind} ${keyString(key)}`;
      // What an earlier read saw is what the commit is judged by.
      if (!this.#reads.has(id)) this.#reads.set(id, { kind, key, object });
    }
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
    const read = this.#reads.get(this.#id(write));
    return read ? read.object : this.#store.get<ApiObject>(write.kind, keyOfOperation(write));
  }

  /**
   * Everything at once: what was read is still so, then the writes. `onWritten` is called as soon as
   * the store has answered: whoever the writes wake may ask for their author at once.
   */
  async commit(
    more: readonly Operation[],
    onWritten: (written: readonly Written[]) => void,
  ): Promise<void> {
    const reads = [...this.#reads.values()].map(({ kind, key, object }): Operation => {
      const precondition: Precondition = object ? versionOf(object) : { exists: false };
      return { op: 'check', kind, key, precondition };
    });
    const { checks, writes } = this.#guarded();
    if (writes.length + more.length === 0) return;
    const before = [...reads, ...checks];
    const results = await this.#store.transact([...before, ...writes, ...more]);
    onWritten(this.#writes.flatMap((write, i) => this.#written(write, results[before.length + i])));
  }

  /** Whether a commit was refused because somebody else was faster. */
  wasOvertaken(refusal: unknown): boolean {
    if (wasRecordOvertaken(refusal)) return true;
    if (!hasCode(refusal, 'NotFound') || !refusal.resource) return false;
    const { kind, ...key } = refusal.resource;
    const id = `${kind} ${keyString(key)}`;
    // Gone since it was read here, or by whoever gave the object of an update or deletion.
    if (this.#reads.get(id)?.object) return true;
    const isGuarded = ({ op }: ObjectOperation): boolean => op === 'update' || op === 'delete';
    return this.#writes.some((write) => isGuarded(write) && this.#id(write) === id);
  }

  /**
   * The guards of the writes mean the state before the transaction: a write to an object that an
   * earlier one has changed is guarded by a check before all writes, not by the version in between.
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
      const read = this.#reads.get(id)?.object;
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
    const before = this.#reads.get(id)?.object?.metadata.resourceVersion ?? given;
    const key = id.slice(write.kind.kind.length + 1);
    return [{ kind: write.kind.kind, key, before, after: result.object.metadata.resourceVersion }];
  }
}

function versionOf({ metadata }: ApiObject): ObjectVersion {
  return { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
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
 * Runs `work` and commits what it gathered together with the versions it read; again, from the
 * start, when somebody else was faster. So `work` must do nothing but read and gather.
 * @throws StatusError Aborted after many conflicts, and what `work` or the store throw.
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
      // The winner may still be on its way to the disk: wait until reads show it.
      await store.transact([]);
    }
  }
}
