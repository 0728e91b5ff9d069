import assert from 'node:assert/strict';
import { hasCode, type StatusCode } from '../../base/index.js';
import { type ApiObject, kindOf, type WatchBatch } from '../../object/index.js';
import type { ObjectStore, Operation, WatchOptions, WatchStart } from '../../store/index.js';

/** The functions by which a suite declares its tests, of mocha, node:test or vitest. */
export interface TestRunner {
  describe(name: string, body: () => void): void;
  it(name: string, body: () => Promise<void>): void;
}

/** A store under test. */
export interface StoreSubject {
  /** Opens the store; reopened after `close`, it must have the same data if `durable`. */
  open(): Promise<ObjectStore>;
  /** Called once, after the last `close`. */
  cleanUp(): Promise<void>;
}

/** The guarantees of a store beyond the core, which the suite then tests. */
export interface StoreCapabilities {
  /** Whether data survives `close`. */
  readonly durable: boolean;
  /** Each transaction with a change gets the next integer as revision. */
  readonly denseRevisions: boolean;
  /**
   * Whether the store is an `EmbeddedStore`: it verifies its data, and a write is visible to reads when its promise
   * resolves, not before. Default true.
   */
  readonly embedded?: boolean;
  /** The store supports `checkKind` and lists by index. Default true. */
  readonly kindChecks?: boolean;
}

/** Options of {@link storeConformance}. */
export interface StoreConformanceOptions {
  /** The name of the store in the tests' names. */
  readonly name: string;
  readonly capabilities: StoreCapabilities;
  /** Creates a new, empty subject; called once per test. */
  readonly subject: () => Promise<StoreSubject>;
  readonly runner: TestRunner;
}

/** One test of the suite. */
export interface ConformanceTest {
  readonly name: string;
  /** Capabilities that the test needs. It is omitted if the store lacks one of them. */
  readonly needs?: readonly (keyof StoreCapabilities)[];
  readonly body: (store: ObjectStore, reopen: () => Promise<ObjectStore>) => Promise<void>;
}

/** The object that the suite stores. */
export interface Thing extends ApiObject {
  readonly value?: number;
  readonly seen?: number;
}

/** The kind of a thing. A thing with a negative value can't be indexed. */
export const things = kindOf<Thing>()({
  kind: 'Thing',
  plural: 'things',
  scope: 'Namespaced',
  statusFields: ['seen'],
  initialStatus: { seen: 0 },
  indexes: {
    value: ({ value = 0 }) => {
      if (value < 0) throw new RangeError('negative');
      return [String(value)];
    },
    seen: ({ seen }) => [(seen ?? 0) > 0 ? 'yes' : 'no'],
  },
});

/** A second kind, to check that kinds are separate. */
export const others = kindOf<Thing>()({
  kind: 'Other',
  plural: 'others',
  scope: 'Namespaced',
  statusFields: ['seen'],
  rarelyWritten: true,
});

/** The key of a thing. */
export function key(name: string, namespace = 'default'): { namespace: string; name: string } {
  return { namespace, name };
}

/** A thing to create. */
export function thing(
  name: string,
  value = 0,
  namespace = 'default',
): { name: string; namespace: string; value: number } {
  return { name, namespace, value };
}

/** The operation that creates a thing. */
export function creation(name: string, value = 0): Operation {
  return { op: 'create', kind: things, object: thing(name, value) };
}

/** Requires that `promise` rejects with a StatusError of this code. @throws AssertionError otherwise */
export async function refused(code: StatusCode, promise: Promise<unknown>): Promise<void> {
  await assert.rejects(promise, (error: unknown) => {
    assert.ok(hasCode(error, code), `expected ${code}, got ${String(error)}`);
    return true;
  });
}

/** Collects the batches of a watch until `enough` returns true. */
export async function collect(
  store: ObjectStore,
  options: WatchStart & Pick<WatchOptions, 'namespace' | 'labels' | 'fields'>,
  enough: (batches: readonly WatchBatch<Thing>[]) => boolean,
): Promise<readonly WatchBatch<Thing>[]> {
  const stop = new AbortController();
  const batches: WatchBatch<Thing>[] = [];
  for await (const batch of store.watch(things, { ...options, signal: stop.signal })) {
    batches.push(batch);
    if (enough(batches)) stop.abort();
  }
  return batches;
}

/** Returns a predicate that is true once this many events have arrived. */
export function events(count: number): (batches: readonly WatchBatch<Thing>[]) => boolean {
  return (batches) => batches.reduce((sum, batch) => sum + batch.events.length, 0) >= count;
}

/** Returns the events of a watch as `TYPE name`. */
export function eventLines(batches: readonly WatchBatch<Thing>[]): readonly string[] {
  return batches.flatMap((batch) => batch.events.map((e) => `${e.type} ${e.object.name}`));
}
