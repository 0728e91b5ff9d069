import { expect } from 'chai';
import { Manager, MemoryEngine, openStore } from 'kedge';
import type { Identity } from 'kedge/server';
import { eventually, FakeClock } from 'kedge/testing';
import { instances } from '../instance/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { type Volume, volumes } from '../volume/kind.js';
import { cloudCredentials } from '../testing/cloud-credentials.js';
import { nodeRestriction } from './node-restriction.js';

describe("the rights of a node's token", () => {
  it('are looked up, regardless of how many instances and volumes there are', async () => {
    const clock = new FakeClock();
    await using store = await openStore({ engine: new MemoryEngine(), clock });
    const manager = new Manager({ store, clock });
    const restriction = nodeRestriction(manager, {
      names: [],
      get: () => Promise.resolve(undefined),
    });
    const all = [manager.informer(instances).lister, manager.informer(volumes).lister];
    const searched = (): never => expect.fail('all objects were looked at');
    for (const lister of all) Object.assign(lister, { list: searched });
    const template = { volumes: [{ name: 'data', mountPath: '/d', claim: { name: 'mounted' } }] };
    await store.create(instances, {
      ...{ namespace: 'default', name: 'here-0', service: 'here', ordinal: 0, node: 'near' },
      template,
    });
    const given = {
      mounted: {},
      held: { attachments: [{ claim: 'default/x', node: 'near', state: 'Attached' }] },
      owned: { topology: { 'svc.io/node': 'near' } },
      foreign: { topology: { 'svc.io/node': 'far' } },
    } as const;
    const made: Volume[] = [];
    for (const [name, fields] of Object.entries(given)) {
      const key = { namespace: 'default', name };
      await store.create(volumes, {
        ...{ ...key, storageClassName: 'local', size: '1Gi', accessMode: 'ReadWriteOnce' },
        parameters: { token: `secret:${name}/k` },
      });
      made.push(await store.updateStatus(volumes, key, fields));
    }
    await manager.start();
    const reached = (node: string): readonly string[] => {
      const filter = restriction.filterFor({ subject: 'agent', node } as Identity);
      const secret = (name: string) => ({ ...made[0], namespace: 'default', name }) as Volume;
      return made.flatMap((volume) => [
        ...(filter?.allows('volumes', 'get', volume) === true ? [volume.name] : []),
        ...(filter?.allows('secrets', 'get', secret(volume.name)) === true
          ? [`secret of ${volume.name}`]
          : []),
      ]);
    };
    expect(reached('near')).to.deep.equal(
      ['mounted', 'held', 'owned'].flatMap((name) => [name, `secret of ${name}`]),
    );
    expect(reached('far')).to.deep.equal(['foreign', 'secret of foreign']);
    expect(reached('none')).to.deep.equal([]);
    await manager.stop(0);
  });

  it('do not include a secret of a class that was created again for another driver', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    const manager = new Manager({ store });
    const restriction = nodeRestriction(manager, {
      names: [],
      get: () => Promise.resolve(undefined),
    });
    const key = { namespace: 'default', name: 'v' };
    const parameters = { token: 'secret:of-other/k' };
    await store.create(storageClasses, { name: 'c', driver: 'other', parameters });
    const form = { storageClassName: 'c', size: '1Gi', accessMode: 'ReadWriteOnce' } as const;
    const made = await store.create(volumes, { ...key, ...form });
    await manager.start();
    const reaches = async (driver: string): Promise<boolean | undefined> => {
      const topology = { 'svc.io/node': 'near' };
      await store.updateStatus(volumes, key, { topology, driver });
      await eventually('the volume', () => {
        const seen = manager.informer(volumes).lister.get('default/v');
        return Promise.resolve(seen?.driver === driver);
      });
      const filter = restriction.filterFor({ subject: 'agent', node: 'near' } as Identity);
      return filter?.allows('secrets', 'get', { ...made, name: 'of-other' });
    };
    expect(await reaches('other')).to.equal(true);
    expect(await reaches('cloud')).to.equal(false);
    await manager.stop(0);
    await store.close();
  });

  it('do not include a credential of the class beside a complete one of the volume, live or captured', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    const manager = new Manager({ store });
    const restriction = nodeRestriction(manager, {
      names: [],
      declaredCredentials: cloudCredentials,
      get: () => Promise.resolve(undefined),
    });
    const ofClass = { accessKeyId: 'AKIA', secretAccessKey: 'secret:live/k', region: 'secret:r/k' };
    await store.create(storageClasses, { name: 'c', driver: 'cloud3-block', parameters: ofClass });
    const form = { storageClassName: 'c', size: '1Gi', accessMode: 'ReadWriteOnce' } as const;
    const key = { namespace: 'default', name: 'v' };
    const parameters = { accessKeyId: 'AKIB', secretAccessKey: 'secret:own/k' };
    const made = await store.create(volumes, { ...key, ...form, parameters });
    const driverParameters = { ...ofClass, secretAccessKey: 'secret:captured/k' };
    const topology = { 'svc.io/node': 'near' };
    await store.updateStatus(volumes, key, { topology, driver: 'cloud3-block', driverParameters });
    await manager.start();
    const filter = restriction.filterFor({ subject: 'agent', node: 'near' } as Identity);
    const reached = ['own', 'r', 'live', 'captured'].filter(
      (name) => filter?.allows('secrets', 'get', { ...made, name }) === true,
    );
    expect(reached).to.deep.equal(['own', 'r']);
    await manager.stop(0);
    await store.close();
  });

  it('include every credential of a class whose driver declares none in advance, beside one of the volume', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    const manager = new Manager({ store });
    const restriction = nodeRestriction(manager, {
      names: ['theirs'],
      declaredCredentials: cloudCredentials,
      get: () => Promise.resolve(undefined),
    });
    // A driver that declares no whole credentials is merged key by key.
    const ofClass = { apiToken: 'secret:token/k', credentialsJSON: 'secret:live/k' };
    await store.create(storageClasses, { name: 'c', driver: 'theirs', parameters: ofClass });
    const form = { storageClassName: 'c', size: '1Gi', accessMode: 'ReadWriteOnce' } as const;
    const key = { namespace: 'default', name: 'v' };
    const parameters = { apiToken: 'secret:own/k' };
    const made = await store.create(volumes, { ...key, ...form, parameters });
    const driverParameters = { ...ofClass, credentialsJSON: 'secret:captured/k' };
    const topology = { 'svc.io/node': 'near' };
    await store.updateStatus(volumes, key, { topology, driver: 'theirs', driverParameters });
    await manager.start();
    const filter = restriction.filterFor({ subject: 'agent', node: 'near' } as Identity);
    const reached = ['own', 'live', 'captured', 'token'].filter(
      (name) => filter?.allows('secrets', 'get', { ...made, name }) === true,
    );
    expect(reached).to.deep.equal(['own', 'live', 'captured']);
    await manager.stop(0);
  });
});
