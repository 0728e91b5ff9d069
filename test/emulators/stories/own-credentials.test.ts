import { expect } from 'chai';
import { specifiedPermissions } from '../cloud3/machine.js';
import { CloudWorld } from './cloud-world.js';

const temporary = {
  accessKeyId: 'ASIATEMPORARY',
  secretAccessKey: 'secret-of-the-temporary-key',
  sessionToken: 'session-of-the-temporary-key',
} as const;

describe('a volume of cloud3-block with temporary keys of its own', function () {
  this.timeout(180_000);
  let cloud: CloudWorld;
  afterEach(() => cloud.stop());

  /** A volume and its snapshot, which then have keys without a session token, and no class. */
  const withoutSession = async (): Promise<void> => {
    cloud = await CloudWorld.start('cloud3');
    const { accessKeyId: keyId, secretAccessKey: secret, sessionToken } = temporary;
    const token = { name: 'temporary', keyId, secret, sessionToken };
    cloud.emulator.addToken({ ...token, scopes: specifiedPermissions });
    await cloud.storageClass({});
    const form = { storageClassName: 'c', size: '10Gi', accessMode: 'ReadWriteOnce' };
    await cloud.ok('POST', '/namespaces/shop/volumes', {
      ...{ ...form, name: 'v', parameters: temporary },
    });
    await cloud.volumeIn('Available');
    await cloud.ok('POST', '/namespaces/shop/snapshots', { name: 'c', source: { volume: 'v' } });
    await cloud.until(
      'the snapshot',
      async () => (await cloud.get('/namespaces/shop/snapshots/c'))?.['status'] === 'Ready',
    );
    const volume = await cloud.ok('GET', '/namespaces/shop/volumes/v');
    const parameters = cloud.literalsOf('second');
    await cloud.ok('PUT', '/namespaces/shop/volumes/v', { ...volume, parameters });
    cloud.emulator.revokeToken('temporary');
    await cloud.world.advance(1_000);
    await cloud.remove('/storageclasses/c?force=true');
  };
  const tokensDuring = async (work: () => Promise<void>): Promise<readonly string[]> => {
    const requests = await cloud.requestsDuring(work);
    return [...new Set(requests.map(({ token = 'none' }) => token))];
  };
  const remove = async (path: string): Promise<void> => {
    await cloud.remove(path);
    await cloud.gone(path);
  };

  it('is deleted with the keys that replaced them, without the old session token, once its class is gone', async () => {
    await withoutSession();
    const used = await tokensDuring(() => remove('/namespaces/shop/volumes/v'));
    expect(used).to.deep.equal(['second']);
    expect(await cloud.existing('volume')).to.deep.equal([]);
  });

  it('has snapshots that are deleted in the same way after it', async () => {
    await withoutSession();
    const volume = await cloud.ok('GET', '/namespaces/shop/volumes/v');
    await cloud.ok('PUT', '/namespaces/shop/volumes/v', { ...volume, reclaimPolicy: 'retain' });
    await remove('/namespaces/shop/volumes/v');
    const used = await tokensDuring(() => remove('/namespaces/shop/snapshots/c'));
    expect(used).to.deep.equal(['second']);
    expect(await cloud.existing('snapshot')).to.deep.equal([]);
  });
});
