import { expect } from 'chai';
import { type ApiObject, kindOf } from '../../object/index.js';
import { type EmbeddedStore, MemoryEngine, openStore } from '../../store/index.js';
import { changeEffect } from '../effects/effect-records.js';
import { runTxn } from './run-txn.js';

interface Lamp extends ApiObject {
  readonly on?: boolean;
  readonly seen?: number;
}
const lamps = kindOf<Lamp>()({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Namespaced',
  statusFields: ['seen'],
});
const key = { namespace: 'home', name: 'a' };

describe('a transaction outside of a reconcile', () => {
  let store: EmbeddedStore;
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
  });
  afterEach(() => store.close());

  it('runs again if its reads were changed meanwhile, and returns the result of its last run', async () => {
    await store.create(lamps, { ...key, on: false });
    let runs = 0;
    const result = await runTxn(store, async (txn) => {
      runs += 1;
      const lamp = await txn.get(lamps, key);
      if (runs === 1) await store.overwrite(lamps, { ...key, on: true });
      if (lamp?.on === false) txn.updateStatus(lamps, key, { seen: 1 });
      return lamp?.on;
    });
    expect([runs, result, (await store.get(lamps, key))?.seen]).to.deep.equal([2, true, undefined]);
  });

  it('removes no finalizer of an object with an unfinished effect', async () => {
    const lamp = await store.create(lamps, { ...key, metadata: { finalizers: ['house/lamp'] } });
    const about = { kind: lamps, key, uid: lamp.metadata.uid };
    await changeEffect(store, about, 'make', () => ({
      phase: 'called',
      controller: 'lamp',
      key: 'home/a',
      startedAt: 0,
      idempotencyKey: 'k',
    }));
    const error: unknown = await runTxn(store, (txn) => {
      txn.update(lamps, { ...lamp, metadata: { ...lamp.metadata, finalizers: [] } });
    }).catch((thrown: unknown) => thrown);
    expect(error).to.include({ code: 'FailedPrecondition', reason: 'EffectPending' });
  });
});
