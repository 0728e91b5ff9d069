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

describe('a detach that EC2 may still execute', () => {
  const call = { signal: new AbortController().signal, parameters: { region: 'eu-central-1' } };
  const request = {
    ...{ volume: { uid: 'v', name: 'v', namespace: 'shop' }, handle: 'vol-1', node: 'n' },
    ...{ ...call, instance: 'i-1' },
  };

  it('is recorded until its end was seen, so that an attach ends it first; a refused one leaves no record', async () => {
    const operations = memoryOperations();
    let [states, refusal] = [['attached'], undefined as DriverError['kind'] | undefined];
    const attachments = new Cloud3Attachments(
      {
        make: () =>
          refusal ? Promise.reject(new DriverError(refusal, 'no')) : Promise.resolve({}),
      } as unknown as Cloud3Api,
      {
        ofHandle: () =>
          Promise.resolve({
            id: 'vol-1',
            attachments: states.map((state) => ({ instance: 'i-1', state })),
          }),
      } as unknown as VolumeReads,
      { now: () => 100_000 } as unknown as ProviderClock,
    );
    const detach = () =>
      attachments.detach({ ...request, operations }).catch((error: unknown) => error);
    const recorded = async () => (await operations.get('detach')) !== undefined;
    refusal = 'PermissionDenied';
    await detach();
    expect(await recorded(), 'refused').to.equal(false);
    refusal = 'Timeout';
    await detach();
    expect(await recorded(), 'without an answer').to.equal(true);
    refusal = 'PermissionDenied';
    await detach();
    expect(await recorded(), 'refused after one without an answer').to.equal(true);
    refusal = undefined;
    await detach();
    states = ['detaching'];
    await detach();
    expect(await recorded(), 'in progress').to.equal(true);
    states = [];
    expect(await detach()).to.equal(undefined);
    expect(await recorded(), 'ended').to.equal(false);
  });
});
