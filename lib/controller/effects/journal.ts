import { type AnyKind, type ApiObject, defineKind, jsonEqual } from '../../object/index.js';
import type { ObjectStore, Operation } from '../../store/index.js';
import type { Json } from './effect.js';

/** The record of an external call that an earlier release stored by key and not by object. */
interface EarlierEffect {
  readonly idempotencyKey: string;
  readonly done: boolean;
  readonly result?: Json;
}

/** The durable state of a controller for one key. */
export interface ReconcileRecord extends ApiObject {
  readonly controller: string;
  readonly key: string;
  /** Time of the next run, milliseconds since the epoch. */
  readonly dueAt?: number;
  /** Failures in a row. */
  readonly failures?: number;
  /** Only in records of earlier releases: the next call of the effect moves it into a record of its object. */
  readonly effects?: Readonly<Record<string, EarlierEffect>>;
}

/**
 * Records of reconcilers: an ordinary kind of the store, so that they are written in the transaction of their
 * object without an event for watchers of that object's kind.
 */
export const reconcileRecords = defineKind<ReconcileRecord>({
  kind: 'ReconcileRecord',
  plural: 'reconcilerecords',
  scope: 'Cluster',
  statusFields: [],
  takenWhenFull: true,
  // A name has a controller and a key.
  namesHoldKeys: true,
});

/** Times that differ by less than this count as equal. */
const sameTimeMs = 1_000;

type Memory = Pick<ReconcileRecord, 'dueAt' | 'failures' | 'effects'>;

/** Timers and failures of one controller, durable. */
export class Journal {
  readonly #store: ObjectStore;
  readonly #controller: string;
  readonly #isStored: boolean;
  /** The stored records; this controller is the only writer. */
  readonly #memories = new Map<string, Memory>();
  /** Keys whose last write failed: only the store knows whether it was committed. */
  readonly #uncertain = new Set<string>();
  /** Id of the store that the memories were read from. */
  #storeId: string;

  /** @param isStored false: nothing is read or written; the state is in memory only */
  constructor(store: ObjectStore, controller: string, isStored = true) {
    this.#isStored = isStored;
    this.#store = store;
    this.#controller = controller;
    this.#storeId = store.storeId;
  }

  /** Number of keys with a record. */
  get size(): number {
    return this.#memories.size;
  }

  /** Reads the stored records of the controller. */
  async load(): Promise<readonly ReconcileRecord[]> {
    const fields = (object: ApiObject): boolean =>
      (object as ReconcileRecord).controller === this.#controller;
    const { items } = await this.#store.list(reconcileRecords, { fields });
    this.#storeId = this.#store.storeId;
    this.#memories.clear();
    for (const { key, dueAt, failures, effects } of items)
      this.#memories.set(key, memory(dueAt, failures, effects));
    return items;
  }

  /**
   * Reads a key's record again if the outcome of its last write is unknown, and all records if the store was
   * replaced.
   */
  async refresh(key: string): Promise<void> {
    if (!this.#isStored) return;
    if (this.#store.storeId !== this.#storeId) {
      await this.load();
      this.#uncertain.clear();
    }
    if (!this.#uncertain.has(key)) return;
    const record = await this.#store.get(reconcileRecords, { name: this.#name(key) });
    this.#keep(key, memory(record?.dueAt, record?.failures, record?.effects));
    this.#uncertain.delete(key);
  }

  /** Marks the key's record as uncertain after a failed write. */
  doubt(key: string): void {
    this.#uncertain.add(key);
  }

  /**
   * Returns the operations that store the time of the next run and the failures, and the state after them. An undefined
   * value is removed. There are no operations if nothing changes.
   */
  schedule(
    key: string,
    dueAt: number | undefined,
    failures: number | undefined,
  ): { readonly operations: readonly Operation[]; readonly next: Memory } {
    const known = this.#memories.get(key);
    // The transaction of the run may have stored the same time, some milliseconds ago.
    const same = Math.abs((dueAt ?? Infinity) - (known?.dueAt ?? 0)) < sameTimeMs;
    const next = memory(same ? known?.dueAt : dueAt, failures, known?.effects);
    return { operations: this.#change(key, next), next };
  }

  /**
   * Returns the operations with which the transaction of a run stores the time of the next run and removes everything
   * else.
   */
  settled(key: string, dueAt: number | undefined): readonly Operation[] {
    return this.#change(key, { dueAt, failures: undefined, effects: undefined });
  }

  /** Applies a committed transaction with these operations to the memory state. */
  committed(key: string, next: { dueAt?: number | undefined }): void {
    this.#keep(key, memory(next.dueAt, undefined, undefined));
  }

  /** Writes operations of {@link schedule} in a separate transaction. */
  async write(key: string, operations: readonly Operation[], next: Memory): Promise<void> {
    try {
      if (operations.length > 0) await this.#store.transact(operations);
    } catch (error) {
      this.doubt(key);
      throw error;
    }
    this.#keep(key, next);
  }

  /**
   * The effect that an earlier release stored for the key, with the operations that remove it: the
   * caller commits them with its own record. Undefined if there is none, or if it was written
   * before the object was created and so belongs to an earlier object of the name.
   */
  async earlierEffect(
    key: string,
    name: string,
    createdAt: string,
  ): Promise<(EarlierEffect & { readonly operations: readonly Operation[] }) | undefined> {
    await this.refresh(key);
    const known = this.#memories.get(key);
    const effect = known?.effects?.[name];
    if (!known || !effect) return undefined;
    const record = await this.#store.get(reconcileRecords, { name: this.#name(key) });
    if (!record || record.metadata.updatedAt < createdAt) return undefined;
    return { ...effect, operations: this.#change(key, without(known, name)) };
  }

  /** Removes the effect from memory after its operations are committed. */
  forgotEarlierEffect(key: string, name: string): void {
    this.#keep(key, without(this.#memories.get(key) ?? {}, name));
  }

  #name(key: string): string {
    return `${this.#controller}:${key}`;
  }

  #keep(key: string, next: Memory): void {
    if (isEmpty(next)) this.#memories.delete(key);
    else this.#memories.set(key, next);
  }

  #change(key: string, next: { [K in keyof Memory]: Memory[K] | undefined }): readonly Operation[] {
    const before = this.#memories.get(key) ?? {};
    const wanted = memory(next.dueAt, next.failures, next.effects);
    if (!this.#isStored || jsonEqual(before, wanted)) return [];
    const name = this.#name(key);
    const kind = reconcileRecords as AnyKind;
    // The writes have no guard: the controller is the only writer of its records and keeps no versions of them.
    if (isEmpty(wanted)) return [{ op: 'deleteByName', kind, key: { name } }];
    const object = { name, controller: this.#controller, key, ...wanted };
    return [{ op: isEmpty(before) ? 'create' : 'overwrite', kind, object }];
  }
}

function without(known: Memory, name: string): Memory {
  const others = Object.entries(known.effects ?? {}).filter(([other]) => other !== name);
  return memory(known.dueAt, known.failures, Object.fromEntries(others));
}

function memory(
  dueAt: number | undefined,
  failures: number | undefined,
  effects: ReconcileRecord['effects'],
): Memory {
  const some = effects && Object.keys(effects).length > 0;
  return {
    ...(dueAt === undefined ? {} : { dueAt }),
    ...(failures ? { failures } : {}),
    ...(some ? { effects } : {}),
  };
}

function isEmpty(value: Memory): boolean {
  return Object.keys(value).length === 0;
}
