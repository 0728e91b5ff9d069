import { hasCode } from '../base/index.js';
import {
  type AnyKind,
  type ApiObject,
  keyFor,
  keyString,
  type Kind,
  type NewObject,
  type ObjectKey,
} from '../object/index.js';
import type { ObjectStore, Operation, OperationResult, Precondition } from '../store/index.js';

/** Times that conflicting work is done again before the conflict is given back. */
const triesMax = 16;

/** Gathers reads and writes of one attempt; nothing is written before it is committed. */
export interface Transaction {
  /** The object as the store has it; committing fails when it is another by then. */
  get<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): Promise<T | undefined>;
  create<T extends ApiObject>(kind: Kind<T>, object: NewObject<T>): void;
  /** Replaces everything but status. */
  update<T extends ApiObject>(kind: Kind<T>, object: T): void;
  /** Sets these status fields, keeps the others. */
  updateStatus<T extends ApiObject, S extends keyof T & string>(
    kind: Kind<T, S>,
    key: ObjectKey,
    status: Partial<Pick<T, S>>,
  ): void;
  delete<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): void;
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

class Attempt implements Transaction {
  readonly #store: ObjectStore;
  readonly #reads = new Map<string, Read>();
  readonly #writes: Operation[] = [];

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

  create<T extends ApiObject>(kind: Kind<T>, object: NewObject<T>): void {
    this.#writes.push({ op: 'create', kind: kind, object } as Operation);
  }

  update<T extends ApiObject>(kind: Kind<T>, object: T): void {
    const { resourceVersion, uid } = object.metadata;
    const precondition = { resourceVersion, uid };
    this.#writes.push({ op: 'update', kind, object, precondition });
  }

  updateStatus<T extends ApiObject, S extends keyof T & string>(
    kind: Kind<T, S>,
    key: ObjectKey,
    status: Partial<Pick<T, S>>,
  ): void {
    this.#writes.push({ op: 'updateStatus', kind, key, status });
  }

  delete<T extends ApiObject>(kind: Kind<T>, key: ObjectKey): void {
    this.#writes.push({ op: 'delete', kind, key });
  }

  /** Everything at once: what was read is still so, then the writes. */
  async commit(more: readonly Operation[]): Promise<readonly Written[]> {
    const checks = [...this.#reads.values()].map(({ kind, key, object }): Operation => {
      const precondition: Precondition = object
        ? { resourceVersion: object.metadata.resourceVersion, uid: object.metadata.uid }
        : { exists: false };
      return { op: 'check', kind, key, precondition };
    });
    const writes = this.#writes.map((write) => this.#unguarded(write));
    if (writes.length + more.length === 0) return [];
    const results = await this.#store.transact([...checks, ...writes, ...more]);
    return writes.flatMap((write, i) => this.#written(write, results[checks.length + i]));
  }

  /** A second write to an object that was read is judged by the check, not by a version again. */
  #unguarded(write: Operation): Operation {
    if (write.op !== 'update' || !this.#reads.has(this.#id(write))) return write;
    const { op, kind, object } = write;
    return { op, kind, object };
  }

  #id(write: Operation): string {
    const key =
      'key' in write ? write.key : keyFor(write.kind, write.object.namespace, write.object.name);
    return `${write.kind.kind} ${keyString(key)}`;
  }

  #written(write: Operation, result: OperationResult | undefined): readonly Written[] {
    if (!result?.changed) return [];
    const id = this.#id(write);
    const given = 'precondition' in write ? write.precondition?.resourceVersion : undefined;
    const before = this.#reads.get(id)?.object?.metadata.resourceVersion ?? given;
    const key = id.slice(write.kind.kind.length + 1);
    return [{ kind: write.kind.kind, key, before, after: result.object.metadata.resourceVersion }];
  }
}

/**
 * Runs `work` and commits what it gathered together with the versions it read; again, from the
 * start, when somebody else was faster. So `work` must do nothing but read and gather.
 * @throws StatusError Aborted after many conflicts, and what `work` or the store throw.
 */
export async function runTransaction<R>(
  store: ObjectStore,
  work: (transaction: Transaction) => R | Promise<R>,
  more: (result: R) => readonly Operation[],
): Promise<{ readonly result: R; readonly written: readonly Written[] }> {
  for (let tries = 1; ; tries += 1) {
    const attempt = new Attempt(store);
    const result = await work(attempt);
    try {
      return { result, written: await attempt.commit(more(result)) };
    } catch (error) {
      const lostRace = hasCode(error, 'Aborted') && error.reason === 'Conflict';
      if (!lostRace || tries >= triesMax) throw error;
      // The winner may still be on its way to the disk: wait until reads show it.
      await store.transact([]);
    }
  }
}
