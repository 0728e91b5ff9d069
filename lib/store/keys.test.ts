import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasCode, limits } from '../base/index.js';
import { reconcileRecords } from '../controller/index.js';
import { type ApiObject, kindOf } from '../object/index.js';
import { LevelEngine, MemoryEngine, openStore } from './index.js';

interface Room extends ApiObject {
  readonly size?: number;
}

const room = {
  kind: 'Room',
  plural: 'rooms',
  scope: 'Cluster',
  statusFields: [],
} as const;
const rooms = kindOf<Room>()(room);
/** A kind that accepts the keys that an earlier release accepted. */
const earlierRooms = kindOf<Room>()({ ...room, namesHoldKeys: true });

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  assert.ok(hasCode(error, 'InvalidArgument'), String(error));
  return error.message;
}

const houses = kindOf<ApiObject>()({
  kind: 'House',
  plural: 'houses',
  scope: 'Namespaced',
  statusFields: [],
});

describe('keys', () => {
  it('a name of maximum length, with a slash after a namespace, is valid', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    const name = `b/${'\u{1f600}'.repeat((limits.nameCharactersMax - 3) / 2)}`;
    const made = await store.create(houses, { namespace: 'a', name });
    assert.deepEqual(await store.get(houses, { namespace: 'a', name }), made);
    const missing = store.watch(houses, {
      namespace: 'a/b',
      fromRevision: 0,
      signal: new AbortController().signal,
    });
    assert.match(await refusal(missing[Symbol.asyncIterator]().next()), /slash/);
    await store.close();
  });

  it('a slash in the name of a cluster-scoped object is refused, for reads and writes', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    for (const attempt of [
      store.create(rooms, { name: 'a/b' }),
      store.get(rooms, { name: 'a/b' }),
      store.get(rooms, { namespace: 'a', name: 'b' }),
      store.deleteByName(rooms, { name: 'a/b' }),
    ])
      assert.match(await refusal(attempt), /slash|cluster-scoped kind/);
    await store.close();
  });

  it('records of reconcilers are named by keys, with slashes, because their kind has namesHoldKeys', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    const name = `c:home/${'a'.repeat(limits.nameCharactersMax)}`;
    const made = await store.create(reconcileRecords, { name, controller: 'c', key: 'home/a' });
    assert.deepEqual(await store.get(reconcileRecords, { name }), made);
    const overlong = { name: 'x'.repeat(limits.keyNameCharactersMax + 1) };
    assert.match(await refusal(store.get(reconcileRecords, overlong)), /at most 2048/);
    await store.close();
  });

  it('objects with keys that an earlier release accepted stay readable, writable and deletable, also after a restart', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'keys-'));
    const open = (): ReturnType<typeof openStore> =>
      openStore({ engine: new LevelEngine({ directory }) });
    let store = await open();
    const names = ['a/b', 'x'.repeat(limits.nameCharactersMax + 1)];
    for (const name of names) await store.create(earlierRooms, { name, size: 1 });
    await store.close();
    store = await open();
    for (const name of names) {
      const read = await store.get(rooms, { name });
      assert.ok(read);
      const written = await store.update(rooms, { ...read, size: 2 });
      // Another division of the same text is another key.
      await refusal(store.get(rooms, { namespace: 'a', name: 'b' }));
      await store.delete(rooms, written);
      await refusal(store.get(rooms, { name }));
    }
    assert.equal((await store.list(rooms)).items.length, 0);
    await store.close();
    await rm(directory, { recursive: true });
  });

  it('a second operation of a transaction is validated by its own key', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    await store.create(earlierRooms, { name: 'a/b' });
    const operation = (key: { namespace?: string; name: string }) =>
      ({ op: 'check', kind: rooms, key, precondition: { generation: 1 } }) as const;
    await store.transact([operation({ name: 'a/b' })]);
    await refusal(
      store.transact([operation({ name: 'a/b' }), operation({ namespace: 'a', name: 'b' })]),
    );
    await store.close();
  });
});
