import { DriverError, memoryOperations } from '@kedge/driver-sdk';
import type { ProviderClock } from '@kedge/driver-sdk/provider';
import { expect } from 'chai';
import type { Cloud3Api } from './api.js';
import { Cloud3Attachments } from './attachments.js';
import type { VolumeReads } from './reads.js';

describe('an attachment that the provider does not complete', () => {
  it('is an error with the remedy while the volume is mounted, and is ended by a detach otherwise', async () => {
    const [made, operations] = [[] as string[], memoryOperations()];
    const attachments = new Cloud3Attachments(
      {
        make: (_: unknown, action: string) => {
          made.push(action);
          return Promise.resolve({});
        },
      } as unknown as Cloud3Api,
      {
        require: () =>
          Promise.resolve({ id: 'vol-1', attachments: [{ instance: 'i-1', state: 'attaching' }] }),
      } as unknown as VolumeReads,
      { now: () => 100_000 } as unknown as ProviderClock,
    );
    let mounted = true;
    const attach = () =>
      attachments
        .attach(
          {
            ...{ volume: { uid: 'v', name: 'v', namespace: 'shop' }, handle: 'vol-1', node: 'n' },
            ...{ parameters: { region: 'eu-central-1' }, instance: 'i-1', operations },
            signal: new AbortController().signal,
            isMounted: () => Promise.resolve(mounted),
          },
          '/link',
        )
        .catch((error: unknown) => error);
    await operations.set('attach', '5000');
    for (const attempt of ['first', 'second']) {
      const refused = await attach();
      expect(refused, attempt).to.be.instanceOf(DriverError).and.include({ kind: 'Unavailable' });
      expect(String(refused)).to.contain(
        'which is mounted on this node, so that it stays attached; stop the instances',
      );
    }
    expect(made).to.deep.equal([]);
    mounted = false;
    expect(String(await attach())).to.contain('it is detached and attached again');
    expect(made).to.deep.equal(['DetachVolume']);
  });
});
