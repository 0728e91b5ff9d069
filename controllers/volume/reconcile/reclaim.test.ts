import { expect } from 'chai';
import { MemoryEngine, openStore, type ReconcileContext, runTxn } from 'kedge';
import { snapshots } from '../../snapshot/kind.js';
import type { Volume } from '../kind.js';
import { EarlierAttempt } from './earlier-attempt.js';
import type { VolumeEffects } from './effects.js';
import { Reclaim } from './reclaim.js';

describe('a volume that releases its source snapshot', () => {
  it('keeps the snapshot for the other volumes that are being restored from it', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const key = { namespace: 'default', name: 's' };
    await store.create(snapshots, { ...key, source: { volume: 'v' } });
    await store.updateStatus(snapshots, key, { restoresInFlight: ['mine', 'other'] });
    const shown = await store.get(snapshots, key);
    const manager = { informer: () => ({ lister: { get: () => shown } }) };
    const effects = { options: { manager } } as unknown as VolumeEffects;
    const reclaim = new Reclaim(effects, new EarlierAttempt(effects));
    const txn: ReconcileContext['txn'] = (work) => runTxn(store, work);
    const volume = { ...key, name: 'v', source: { snapshot: 's' }, metadata: { uid: 'mine' } };
    for (let times = 1; times <= 2; times += 1) {
      await reclaim.releaseSource(volume as unknown as Volume, { txn } as ReconcileContext);
      expect(await store.get(snapshots, key)).to.have.deep.property('restoresInFlight', ['other']);
    }
  });
});
