import { expect } from 'chai';
import type { Driver, DriverRegistry, Parameters } from '@kedge/driver-sdk';
import { holderOf } from '../secret/index.js';
import type { StorageClass } from '../storage-class/kind.js';
import { volumes } from '../volume/kind.js';
import { driverCall } from './driver-call.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const holder = holderOf(volumes, { namespace: 'shop', name: 'data' });

describe('the parameters of a driver call', () => {
  const registry = (node: Parameters): DriverRegistry => ({
    names: ['cloud'],
    get: () =>
      Promise.resolve({
        capabilities: () => ({
          sensitiveParameters: ['apiToken'],
          credentialParameters: ['apiToken', 'apiTokenSecretRef'],
        }),
      } as unknown as Driver),
    credentialsOf: () => node,
  });
  const called = async (
    ofClass: Parameters | undefined,
    driverParameters: Parameters = {},
    own: Parameters = {},
    node: Parameters = {},
    driver = 'cloud',
  ): Promise<Parameters> => {
    const resolver = { rebind: (parameters: Parameters) => parameters };
    const volume = { driver: 'cloud', storageClassName: 'c', driverParameters, parameters: own };
    const storageClass: StorageClass | undefined = ofClass && {
      name: 'c',
      driver,
      parameters: ofClass,
      metadata,
    };
    const parts = { drivers: registry(node), resolver, holder };
    return (await driverCall(parts, volume, storageClass)).parameters;
  };
  const captured = { region: 'fra1', apiToken: 'old' };

  it('are captured ones, with the credentials of the live class and volume', async () => {
    expect(await called({ region: 'nyc3', apiToken: 'new' }, captured)).to.deep.equal({
      region: 'fra1',
      apiToken: 'new',
    });
    expect(await called({ apiToken: 'new' }, captured, { apiToken: 'own' })).to.include({
      apiToken: 'own',
    });
  });

  it('have no captured credential once the class has none, and all of them without the class', async () => {
    expect(await called({ region: 'fra1' }, captured)).to.deep.equal({ region: 'fra1' });
    expect(await called(undefined, captured)).to.deep.equal(captured);
  });

  it('are captured ones if the class is now one of another driver: its credential is for another provider', async () => {
    const ofOther = { location: 'fsn1', apiToken: 'of another provider' };
    expect(await called(ofOther, captured, {}, {}, 'other')).to.deep.equal(captured);
  });

  it('never mix credentials: another one of the class replaces what was captured', async () => {
    expect(await called({ apiTokenSecretRef: 'infra/cloud' }, captured)).to.deep.equal({
      region: 'fra1',
      apiTokenSecretRef: 'infra/cloud',
    });
  });

  it('never mix credentials without a class: a new one of the volume replaces all captured ones', async () => {
    const legacy = { apiTokenSecretRef: 'infra/new' };
    expect(await called(undefined, captured, legacy)).to.deep.equal({ region: 'fra1', ...legacy });
    // A captured one of the class completes those that the volume has had from the beginning.
    const both = { ...captured, apiTokenSecretRef: 'infra/cloud' };
    expect(await called(undefined, both, { apiToken: 'old' })).to.deep.equal(both);
  });

  it("include the node's credential if class and volume have none (specification section 9.2)", async () => {
    const node = { apiTokenSecretRef: 'infra/node' };
    expect(await called({ region: 'fra1' }, {}, {}, node)).to.deep.equal({
      region: 'fra1',
      ...node,
    });
    expect(await called({ apiToken: 'of class' }, {}, {}, node)).to.deep.equal({
      apiToken: 'of class',
    });
    expect(await called({}, {}, { apiToken: 'own' }, node)).to.deep.equal({ apiToken: 'own' });
  });
});
