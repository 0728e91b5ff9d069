import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import {
  type ApiObject,
  defineKind,
  LevelEngine,
  type NewObject,
  type ObjectStore,
  openStore,
} from 'kedge';

/** An object of about 1 KiB when stored. */
export interface Item extends ApiObject {
  readonly spec?: Readonly<Record<string, string>>;
  readonly phase?: string;
}

/** The kind that benchmarks write. */
export const items = defineKind<Item>({
  kind: 'Item',
  plural: 'items',
  scope: 'Namespaced',
  statusFields: ['phase'],
});

const spec = Object.fromEntries(
  Array.from({ length: 16 }, (_, i) => [`field${i}`, `value-${i * 7919}-of-a-usual-length-here`]),
);

/** The n-th object. */
export function item(n: number): NewObject<Item, 'Namespaced'> {
  return { namespace: 'default', name: `item-${n}`, labels: { app: 'bench' }, spec };
}

/** Approximate encoded bytes of a stored object. */
export const itemBytes = JSON.stringify(item(1)).length + 260;

/** Runs `work` with a new temporary directory, which is removed afterwards. */
export async function withDirectory<R>(work: (directory: string) => Promise<R>): Promise<R> {
  const directory = await mkdtemp(join(tmpdir(), 'kedge-bench-'));
  try {
    return await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** A store on LevelDB in a directory. */
export function openLevelStore(directory: string): Promise<ObjectStore> {
  return openStore({ engine: new LevelEngine({ directory }) });
}

/** Creates the objects from `from` up to and excluding `to`, 1,000 at once. */
export async function fill(store: ObjectStore, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += 1_000)
    await Promise.all(
      Array.from({ length: Math.min(1_000, to - at) }, (_, i) => store.create(items, item(at + i))),
    );
}
