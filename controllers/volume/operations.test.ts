import { expect } from 'chai';
import { MemoryEngine, openStore, type ReconcileContext, runTxn } from 'kedge';
import { volumes } from '../kinds/index.js';
import { volumeFinalizer } from './admission.js';
import { releaseObject } from './operations.js';

describe('an object that its controller lets go', () => {
  it('is the one that was looked at: another one under the name keeps its finalizer', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const key = { namespace: 'default', name: 'v' };
    const size = { storageClassName: 'c', size: '1Gi', accessMode: 'ReadWriteOnce' } as const;
    const seen = await store.create(volumes, { ...key, ...size });
    await store.delete(volumes, seen);
    const metadata = { finalizers: [volumeFinalizer] };
    await store.create(volumes, { ...key, ...size, metadata });
    const txn: ReconcileContext['txn'] = (work) => runTxn(store, work);
    await releaseObject({ txn } as ReconcileContext, volumes, seen, volumeFinalizer, []);
    expect((await store.get(volumes, key))?.metadata.finalizers).to.deep.equal([volumeFinalizer]);
  });
});
