import { expect } from 'chai';
import { explain, gather, type Readable, type Reader } from '@kedge/controllers/cause';
import { declaredCredentials } from '@kedge/drivers';
import { driverNames } from '../sweep/emulated-cloud.js';
import { CloudWorld } from './cloud-world.js';

const plurals = {
  ...{ Service: 'services', Instance: 'instances', Volume: 'volumes', Snapshot: 'snapshots' },
  ...{ StorageClass: 'storageclasses', Node: 'nodes', Namespace: 'namespaces' },
} as const satisfies Readonly<Record<keyof Readable, string>>;

/** Reads objects as clients do: over REST, where literals are masked and hidden fields are missing. */
function restReader(cloud: CloudWorld): Reader {
  const within = (kind: keyof Readable, namespace: string): string =>
    kind === 'StorageClass' || kind === 'Node' || kind === 'Namespace'
      ? `/${plurals[kind]}`
      : `/namespaces/${namespace}/${plurals[kind]}`;
  return {
    credentials: declaredCredentials,
    get: async <K extends keyof Readable>(kind: K, key: string) => {
      const [namespace = '', name = namespace] = key.split('/');
      const { status, body } = await cloud.rest('GET', `${within(kind, namespace)}/${name}`);
      return status === 404 ? 'NotFound' : (body as unknown as Readable[K]);
    },
    list: async <K extends keyof Readable>(kind: K) =>
      (await cloud.ok('GET', within(kind, 'shop')))['items'] as readonly Readable[K][],
  };
}

for (const provider of ['cloud1', 'cloud3'] as const)
  describe(`the explanation of a rejected credential of ${driverNames[provider]}`, function () {
    this.timeout(180_000);
    let cloud: CloudWorld;
    beforeEach(async () => {
      cloud = await CloudWorld.start(provider);
      await cloud.secret('cloud', cloud.credential('first'));
      await cloud.secret('own', cloud.credential('second'));
    });
    afterEach(() => cloud.stop());

    const volumePath = '/namespaces/shop/volumes/v';
    const snapshotPath = '/namespaces/shop/snapshots/s';
    const volume = async (parameters?: Readonly<Record<string, string>>): Promise<void> => {
      const form = { storageClassName: 'c', size: '10Gi', accessMode: 'ReadWriteOnce' };
      const body = { ...form, name: 'v', ...(parameters ? { parameters } : {}) };
      await cloud.ok('POST', '/namespaces/shop/volumes', body);
      await cloud.volumeIn('Available');
    };
    const snapshot = async (): Promise<void> => {
      await cloud.ok('POST', '/namespaces/shop/snapshots', { name: 's', source: { volume: 'v' } });
      await cloud.until(
        'the snapshot',
        async () => (await cloud.get(snapshotPath))?.['status'] === 'Ready',
      );
    };
    /** The remedy after the deletion of an object whose credential the provider rejects. */
    const remedyOf = async (path: string): Promise<string> => {
      cloud.emulator.revokeToken(cloud.logged('first'));
      cloud.emulator.revokeToken(cloud.logged('second'));
      await cloud.remove(path);
      await cloud.until(
        'the rejection',
        async () => (await cloud.get(path))?.['reason'] === 'CredentialsRejected',
      );
      const object = (await cloud.get(path)) as never;
      const kind = path === volumePath ? 'Volume' : 'Snapshot';
      const subject = { kind, object } as { kind: 'Volume'; object: Readable['Volume'] };
      return explain(subject, await gather(restReader(cloud), subject))?.remedy?.text ?? 'none';
    };
    const removed = async (path: string): Promise<void> => {
      await cloud.remove(path);
      await cloud.gone(path);
    };

    it('names the secret of the deleted volume for its snapshot, with a class or without, and a later volume', async () => {
      await cloud.storageClass();
      await volume(cloud.parametersOf('secret:own/token'));
      await snapshot();
      await removed(volumePath);
      await volume();
      expect(await remedyOf(snapshotPath)).to.contain('patch secret/own -n shop');
    });

    it('names no class for a credential that the deleted volume had itself', async () => {
      await cloud.storageClass();
      await volume(cloud.literalsOf('second'));
      await snapshot();
      await removed(volumePath);
      const remedy = await remedyOf(snapshotPath);
      expect(remedy).to.contain('its credential is that of its deleted volume');
      expect(JSON.stringify(await cloud.get(snapshotPath))).to.contain('ownParameters');
    });

    it('names the volume, or the class to create again, once the class is gone', async () => {
      await cloud.storageClass(cloud.literalsOf('first'));
      await volume();
      await cloud.remove('/storageclasses/c?force=true');
      const remedy = await remedyOf(volumePath);
      expect(remedy).to.contain('kedge edit volume/v -n shop');
      expect(remedy).to.contain(`'name: c' 'driver: ${driverNames[provider]}'`);
    });

    it('names the captured secret of a volume whose parameters were removed, once the class is gone', async () => {
      await cloud.storageClass();
      await volume(cloud.parametersOf('secret:own/token'));
      const found = await cloud.ok('GET', volumePath);
      const written = { parameters: {}, ownParameters: ['of-the-user'] };
      await cloud.ok('PUT', volumePath, { ...found, ...written });
      expect((await cloud.get(volumePath))?.['ownParameters']).to.deep.equal(
        found['ownParameters'],
      );
      await cloud.remove('/storageclasses/c?force=true');
      expect(await remedyOf(volumePath)).to.contain('patch secret/own -n shop');
    });
  });
