import { expect } from 'chai';
import { silentLogger } from 'kedge';
import { type Driver, type MountRequest, thisNode } from '@kedge/driver-sdk';
import { FakeClock } from 'kedge/testing';
import type { Volume } from '../../volume/kind.js';
import { NodeVolumes } from './node-volumes.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const volume = { namespace: 'default', name: 'v', metadata, handle: 'h' } as unknown as Volume;

describe('a volume that is staged on its node', () => {
  const requests: MountRequest[] = [];
  const driver = {
    capabilities: () => ({ blockDevice: false }),
    attach: () => Promise.resolve({ devicePath: '/dev/x' }),
    mount: (request: MountRequest) => {
      requests.push(request);
      return Promise.resolve({ path: '/host', formatted: true });
    },
  } as unknown as Driver;
  const call = { signal: new AbortController().signal } as never;
  const ports = { host: thisNode, mayMount: false, clock: new FakeClock(), logger: silentLogger };
  const node = new NodeVolumes({ mountRoot: '/mounts', ...ports });
  const prepare = async (fields: Partial<Volume>): Promise<MountRequest | undefined> => {
    const mount = { name: 'data', mountPath: '/d', claim: { name: 'v' } };
    await node.prepare(
      { ...volume, ...fields },
      mount,
      { claim: 'default/a-0', runtime: 'container' },
      driver,
      call,
    );
    return requests.pop();
  };

  it('may be formatted until it was formatted, and never again', async () => {
    expect(await prepare({})).to.include({ mayFormat: true, isCopy: false });
    expect(await prepare({ source: { snapshot: 's' } })).to.include({ isCopy: true });
    expect(await prepare({ importedAs: 'disk-1' })).to.include({ isCopy: true });
    expect(await prepare({ formatted: true })).to.include({ mayFormat: false });
    await node.grow({ ...volume }, '/dev/x', driver, call);
    expect(requests.pop()).to.include({ mayFormat: false });
  });

  it('is mounted with its recorded size, by which a driver recognizes a wrong device', async () => {
    expect(await prepare({ sizeBytes: '1024' })).to.include({ sizeBytes: 1024n });
    expect(await prepare({})).to.not.have.property('sizeBytes');
    await node.grow({ ...volume, sizeBytes: '2048' }, '/dev/x', driver, call);
    expect(requests.pop(), 'growth').to.include({ sizeBytes: 2048n });
  });

  it('is mounted read-only where many nodes read it', async () => {
    expect(await prepare({ accessMode: 'ReadOnlyMany' })).to.include({ readOnly: true });
    expect(await prepare({ accessMode: 'ReadWriteOnce' })).to.include({ readOnly: false });
    for (const [accessMode, readOnly] of [
      ['ReadOnlyMany', true],
      ['ReadWriteOnce', false],
    ] as const) {
      await node.grow({ ...volume, accessMode }, '/dev/x', driver, call);
      expect(requests.pop(), 'growth').to.include({ readOnly });
    }
  });
});
