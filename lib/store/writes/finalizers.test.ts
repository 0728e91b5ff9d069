import { expect } from 'chai';
import { hasCode } from '../../base/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import { addFinalizer, MemoryEngine, openStore, removeFinalizer } from '../index.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});
const lamp = { name: 'a' };

const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('finalizers', () => {
  it('are added to and removed from the object that was read', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const made = await store.create(lamps, lamp);
    const held = await addFinalizer(store, lamps, made, 'x/y');
    expect(held.metadata.finalizers).to.deep.equal(['x/y']);
    const both = await addFinalizer(store, lamps, made, 'x/z');
    expect(both.metadata.finalizers).to.deep.equal(['x/y', 'x/z']);
    expect(await addFinalizer(store, lamps, made, 'x/y')).to.deep.equal(both);
    await store.delete(lamps, made);
    await removeFinalizer(store, lamps, made, 'x/y');
    await removeFinalizer(store, lamps, made, 'x/y');
    expect((await store.get(lamps, lamp))?.metadata.finalizers).to.deep.equal(['x/z']);
    await removeFinalizer(store, lamps, made, 'x/z');
    expect(await store.get(lamps, lamp)).to.equal(undefined);
  });

  it('are not added to an object that is being deleted, was deleted or recreated', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const made = await store.create(lamps, { ...lamp, metadata: { finalizers: ['x/y'] } });
    await store.delete(lamps, made);
    const late = await errorOf(addFinalizer(store, lamps, made, 'x/z'));
    expect(hasCode(late, 'FailedPrecondition') && late.reason).to.equal('Deleting');
    await removeFinalizer(store, lamps, made, 'x/y');
    const gone = await errorOf(addFinalizer(store, lamps, made, 'x/y'));
    expect(hasCode(gone, 'NotFound')).to.equal(true);
    const other = await store.create(lamps, lamp);
    const replaced = await errorOf(addFinalizer(store, lamps, made, 'x/y'));
    expect(hasCode(replaced, 'Aborted') && replaced.reason).to.equal('Conflict');
    expect(await store.get(lamps, lamp)).to.deep.equal(other);
  });

  it('of another object of that name are not changed', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const first = await store.create(lamps, lamp);
    await store.delete(lamps, first);
    const second = await store.create(lamps, { ...lamp, metadata: { finalizers: ['x/y'] } });
    await removeFinalizer(store, lamps, first, 'x/y');
    expect(await store.get(lamps, lamp)).to.deep.equal(second);
  });
});
