import { expect } from 'chai';
import {
  effectRecords,
  MemoryEngine,
  type ObjectStore,
  openStore,
  operationIds,
  type ReconcileContext,
  runTxn,
  systemClock,
} from 'kedge';
import type { Operations } from '@kedge/driver-sdk';
import { type Volume, volumes } from '../volume/kind.js';
import { volumeFinalizer } from '../volume/admission.js';
import { operationsOf, releaseObject } from './operations.js';

describe('an object that its controller releases', () => {
  it('loses its finalizer only if it is the one that was read: another one of its name keeps it', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const key = { namespace: 'default', name: 'v' };
    const size = { storageClassName: 'c', size: '1Gi', accessMode: 'ReadWriteOnce' } as const;
    const seen = await store.create(volumes, { ...key, ...size });
    await store.delete(volumes, seen);
    const metadata = { finalizers: [volumeFinalizer] };
    await store.create(volumes, { ...key, ...size, metadata });
    const txn: ReconcileContext['txn'] = (work) => runTxn(store, work);
    await releaseObject({ txn } as ReconcileContext, volumes, seen, volumeFinalizer);
    expect((await store.get(volumes, key))?.metadata.finalizers).to.deep.equal([volumeFinalizer]);
  });
});

describe('the operations of a volume on several nodes', () => {
  let store: ObjectStore;
  let volume: Volume;
  const key = { namespace: 'default', name: 'v' };

  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    volume = await store.create(volumes, {
      ...key,
      ...{ storageClassName: 'c', size: '1Gi', accessMode: 'ReadOnlyMany' },
      metadata: { finalizers: [volumeFinalizer] },
    });
  });
  afterEach(() => store.close());

  const ports = () => ({ store, clock: systemClock, controller: 'agent' });
  const on = (node: string): Operations => operationsOf(ports(), volumes, volume, node);
  const names = async (): Promise<readonly string[]> =>
    (await store.list(effectRecords)).items.flatMap(({ effects }) => Object.keys(effects));

  it('are each of its own node where they attach and detach, and of the volume else', async () => {
    await Promise.all(['a', 'b'].map((node) => on(node).set('attach', `op-${node}`)));
    await on('a').set('expand', 'op-expand');
    for (const node of ['a', 'b']) {
      expect(await on(node).get('attach')).to.equal(`op-${node}`);
      expect(await on(node).get('detach')).to.equal(undefined);
      expect(await on(node).get('expand')).to.equal('op-expand');
    }
    await on('a').clear('attach');
    expect(await on('a').get('attach')).to.equal(undefined);
    expect(await on('b').get('attach')).to.equal('op-b');
  });

  it('continue operations that an earlier release recorded without a node', async () => {
    const before = operationIds({ ...ports(), key: 'default/v' }, volumes, volume);
    await before.set('driver attach', 'op-1');
    expect(await on('a').get('attach')).to.equal('op-1');
    await on('a').clear('attach');
    expect(await names()).to.deep.equal([]);
  });

  it('are dropped when it is removed, regardless of their node; other effects are not', async () => {
    const txn: ReconcileContext['txn'] = (work) => runTxn(store, work);
    await on('a').set('attach', 'op-a');
    const others = operationIds({ ...ports(), key: 'default/v' }, volumes, volume);
    await others.set('billing', 'op-billing');
    await store.deleteByName(volumes, key);
    const release = () =>
      releaseObject({ txn } as ReconcileContext, volumes, volume, volumeFinalizer).catch(
        (error: unknown) => String(error),
      );
    expect(await release()).to.contain('effect "billing" is pending');
    await others.clear('billing');
    await release();
    expect(await store.get(volumes, key)).to.equal(undefined);
    expect(await names()).to.deep.equal([]);
  });
});
