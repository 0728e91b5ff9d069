import {
  type ApiObject,
  type DatabaseDriver,
  defineKind,
  type EmbeddedStore,
  LevelEngine,
  type ObjectStore,
  openStore,
} from 'kedge';

/** An object whose content identifies the write that stored it. */
export interface Entry extends ApiObject {
  readonly value?: number;
  readonly pad?: string;
}

/** The kind of the tests in this folder. */
export const entries = defineKind<Entry>({
  kind: 'Entry',
  plural: 'entries',
  scope: 'Cluster',
  statusFields: [],
});

/** Opens a store with small buffers, so that LevelDB creates tables and compacts during a test. */
export function openLedger(
  directory: string,
  options: {
    readonly noSync?: boolean;
    readonly writeBufferBytes?: number;
    readonly driver?: DatabaseDriver;
  } = {},
): Promise<EmbeddedStore> {
  const engine = new LevelEngine({
    directory,
    writeBufferBytes: options.writeBufferBytes ?? 64 * 1024,
    unsafeNoSync: options.noSync ?? false,
    ...(options.driver && { driver: options.driver }),
  });
  return openStore({ engine, historyEvents: 200, historyAgeMs: 0 });
}

/** The complete content of a store, by name. */
export async function content(store: ObjectStore): Promise<Map<string, number>> {
  const { items } = await store.list(entries);
  return new Map(items.map((entry) => [entry.name, entry.value ?? -1]));
}

/** A text that compresses badly, like real values. */
export function pad(value: number): string {
  let state = value * 2654435761 + 1;
  return Array.from({ length: 40 }, () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state.toString(36);
  }).join('');
}

/** Creates or replaces an entry. */
export async function put(store: ObjectStore, name: string, value: number): Promise<void> {
  const object = { name, value, pad: pad(value) };
  if (await store.get(entries, { name })) {
    await store.overwrite(entries, object);
  } else {
    await store.create(entries, object);
  }
}
