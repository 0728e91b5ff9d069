import { expect } from 'chai';
import type { AdmissionContext } from 'kedge/server';
import type { StorageClass, Volume } from '@kedge/api/kinds';
import { snapshots } from '../snapshot/kind.js';
import { cloudCredentials } from '../testing/cloud-credentials.js';
import { volumes } from '../volume/kind.js';
import { neededByDeletions } from './deletion-need.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };

describe('a secret of a namespace that is being deleted', () => {
  const volume = (more: Partial<Volume> = {}): Volume => ({
    ...{ namespace: 'shop', name: 'v', storageClassName: 'c', size: '1Gi', driver: 'd' },
    ...{ accessMode: 'ReadWriteOnce', driverParameters: { token: 'secret:first/key' } },
    metadata: { ...metadata, deletionRequestedAt: 'now' },
    ...more,
  });
  const isNeeded = (
    name: string,
    object: Volume,
    kind: unknown = volumes,
    more: Partial<StorageClass> = {},
  ): Promise<boolean> => {
    const parameters = { token: 'secret:second/key' };
    const storageClass = { ...{ name: 'c', driver: 'd', parameters, metadata }, ...more };
    const context = {
      lookupAll: () => Promise.resolve([storageClass]),
      lookupBy: (of: unknown, index: string, value: string) => {
        const values =
          of === volumes && kind === volumes ? volumes.indexes?.[index]?.(object) : undefined;
        const isFound =
          values?.includes(value) === true || (of === kind && index === 'storageClass');
        return Promise.resolve(of === kind && isFound ? [object] : []);
      },
    } as unknown as AdmissionContext;
    return neededByDeletions(context, { namespace: 'shop', name }, cloudCredentials);
  };

  it('is needed if the class of a volume in deletion refers to it now, or the captured parameters do', async () => {
    expect(await isNeeded('second', volume())).to.equal(true);
    expect(await isNeeded('first', volume())).to.equal(true);
    expect(await isNeeded('third', volume())).to.equal(false);
    expect(await isNeeded('second', volume(), snapshots)).to.equal(true);
  });

  it('is not needed by a volume with a value of its own, of another driver, or that is not being deleted', async () => {
    expect(await isNeeded('second', volume({ parameters: { token: 'own' } }))).to.equal(false);
    expect(await isNeeded('second', volume({ driver: 'other' }))).to.equal(false);
    expect(await isNeeded('second', volume({ metadata }))).to.equal(false);
  });

  it('is needed by a volume of a driver that declares none in advance, beside a credential of its own', async () => {
    const parameters = { apiToken: 'secret:first/key', credentialsJSON: 'secret:second/key' };
    const object = volume({ parameters: { apiToken: 'own' }, driverParameters: {} });
    expect(await isNeeded('second', object, volumes, { parameters })).to.equal(true);
    expect(await isNeeded('first', object, volumes, { parameters })).to.equal(false);
    const captured = volume({ parameters: { apiToken: 'own' }, driverParameters: parameters });
    expect(await isNeeded('second', captured, volumes, { driver: 'other' })).to.equal(true);
  });

  it('is not needed by a volume with a complete credential of its own', async () => {
    const ofClass = { driver: 'cloud3-block', parameters: { sessionToken: 'secret:second/key' } };
    const needed = (own: Volume['parameters']): Promise<boolean> =>
      isNeeded(
        'second',
        volume({ driver: 'cloud3-block', parameters: own ?? {} }),
        volumes,
        ofClass,
      );
    expect(await needed({ accessKeyId: 'own', secretAccessKey: 'own' })).to.equal(false);
    expect(await needed({ accessKeyId: 'own' })).to.equal(true);
    // The index has the captured ones of any driver.
    const captured = (parameters: Volume['parameters']): Promise<boolean> => {
      const driverParameters = { accessKeyId: 'AKIA', secretAccessKey: 'secret:second/key' };
      const object = { driver: 'cloud3-block', driverParameters, parameters: parameters ?? {} };
      return isNeeded('second', volume(object), volumes, { driver: 'other' });
    };
    expect(await captured({ accessKeyId: 'own', secretAccessKey: 'own' })).to.equal(false);
    expect(await captured({})).to.equal(true);
  });
});
