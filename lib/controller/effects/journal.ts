import { type AnyKind, type ApiObject, defineKind, jsonEqual } from '../../object/index.js';
import type { ObjectStore, Operation } from '../../store/index.js';
import type { Json } from './effect.js';

/** An external call as an earlier release kept it, by key and not by object. */
interface EarlierEffect {
  readonly idempotencyKey: string;
  readonly done: boolean;
  readonly result?: Json;
}

/** What a controller remembers about one key across restarts. */
export interface ReconcileRecord extends ApiObject {
  readonly controller: string;
  readonly key: string;
  /** When to look again, milliseconds since the epoch. */
  readonly dueAt?: number;
  /** Failures in a row. */
  readonly failures?: number;
  /** Only in records of earlier releases: the next call of an effect moves it into a record of its object. */
  readonly effects?: Readonly<Record<string, EarlierEffect>>;
}

/**
 * Records of reconcilers: an ordinary kind of the store, so they are written in the transaction of
 * the object they are about, and no watcher of that object's kind is woken by them.
 */
export const reconcileRecords = defineKind<ReconcileRecord>({
  kind: 'ReconcileRecord',
  plural: 'reconcilerecords',
  scope: 'Cluster',
  statusFields: [],
  takenWhenFull: true,
  // Of a controller and a key.
  namesHoldKeys: true,
});

/** Times closer than this are one time. */
const sameTimeMs = 1_000;

type Memory = Pick<ReconcileRecord, 'dueAt' | 'failures' | 'effects'>;

/** Timers and failures of one controller, durable. */
export class Journal {
  readonly #store: ObjectStore;
  readonly #controller: string;
  readonly #isStored: boolean;
  /** What the store holds; this controller is the only writer. */
  readonly #memories = new Map<string, Memory>();
  /** Keys whose last write failed: only the store can tell whether it happened. */
  readonly #uncertain = new Set<string>();
  /** Of the store that the memories were read from. */
  #storeId: string;

  /** @param isStored false: nothing is read or written, only this process remembers */
  constructor(store: ObjectStore, controller: string, isStored = true) {
    this.#isStored = isStored;
    this.#store = store;
    this.#controller = controller;
    this.#storeId = store.storeId;
  }

  /** Keys with something remembered. */
  get size(): number {
    return this.#memories.size;
  }

  /** Reads back what the controller remembered. */
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
   * Reads a key's record again where a write of it may or may not have happened, and all of them when
   * the store is another one than they were read from.
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

  /** A write of the key's record failed. */
  doubt(key: string): void {
    this.#uncertain.add(key);
  }

  /** Remembers when to look again; undefined forgets. Nothing is written when nothing changes. */
  schedule(
    key: string,
    dueAt: number | undefined,
    failures: number | undefined,
  ): { readonly operations: readonly Operation[]; readonly next: Memory } {
    const known = this.#memories.get(key);
    // The transaction of the run has kept it already, some milliseconds ago.
    const same = Math.abs((dueAt ?? Infinity) - (known?.dueAt ?? 0)) < sameTimeMs;
    const next = memory(same ? known?.dueAt : dueAt, failures, known?.effects);
    return { operations: this.#change(key, next), next };
  }

  /** The run is over and its object says what came of it. */
  settled(key: string, dueAt: number | undefined): readonly Operation[] {
    return this.#change(key, { dueAt, failures: undefined, effects: undefined });
  }

  /** Takes over what a transaction with these operations has written. */
  committed(key: string, next: { dueAt?: number | undefined }): void {
    this.#keep(key, memory(next.dueAt, undefined, undefined));
  }

  /** Writes operations of {@link schedule} on their own. */
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
   * The effect that an earlier release has kept for the key, with the operations that forget it: the
   * caller writes them together with a record of its own. Undefined when there is none, or when it was
   * written before the object was created, so that it belongs to another one of the name.
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

  /** The operations of {@link earlierEffect} are committed. */
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
    // Unguarded: nobody else writes the controller's own records, and no version of them is kept.
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
