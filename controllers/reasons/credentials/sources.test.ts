import { expect } from 'chai';
import type { StorageClass, Volume } from '@kedge/api/kinds';
import { inputMessages } from '../../messages/inputs.js';
import { cloudCredentials } from '../../testing/cloud-credentials.js';
import { driverErrors } from '../driver-errors.js';
import type { Storage } from '../storage-subject.js';
import { type About, emptyWorld } from '../world.js';
import { callParameters, secretsOf } from './sources.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
type Parameters = Readonly<Record<string, string>>;

function aboutVolume(
  driver: string,
  more: Partial<Volume>,
  ofClass?: Parameters,
  message = '',
): About & Storage {
  const object: Volume = {
    ...{ namespace: 'default', name: 'v', storageClassName: 'c', size: '1Gi' },
    ...{ accessMode: 'ReadWriteOnce', driver, handle: 'h', metadata },
    ...more,
  };
  const named: StorageClass = { ...{ name: 'c', driver, metadata }, parameters: ofClass ?? {} };
  const credentials = cloudCredentials;
  const world = { ...emptyWorld, credentials, storageClasses: ofClass ? [named] : [] };
  return { kind: 'Volume', object, message, world };
}

function used(driver: string, more: Partial<Volume>, ofClass?: Parameters): readonly string[] {
  const about = aboutVolume(driver, more, ofClass);
  return secretsOf(about, about).map(({ namespace, name, key }) => `${namespace}/${name}/${key}`);
}

describe('the secrets that an explanation names', () => {
  const pair = { accessKeyId: 'secret:own/id', secretAccessKey: 'secret:own/key' };
  const ofPair = ['default/own/id', 'default/own/key'];

  it('are those of the volume alone if it has a complete credential', () => {
    const token = { apiToken: 'secret:class/key' };
    const legacy = { parameters: { apiTokenSecretRef: 'clouds/own' } };
    expect(used('cloud1-volume', legacy, token)).to.deep.equal(['clouds/own/token']);
    const session = { sessionToken: 'secret:class/session' };
    expect(used('cloud3-block', { parameters: pair }, session)).to.deep.equal(ofPair);
    expect(used('cloud3-block', { parameters: pair }, { region: 'secret:place/r' })).to.deep.equal([
      ...['default/place/r', ...ofPair],
    ]);
  });

  it('are also those of the class if the volume has a part, or parameters of no known form', () => {
    const ofClass = { ...pair, sessionToken: 'secret:class/session' };
    const part = { parameters: { sessionToken: 'secret:own/session' } };
    expect(used('cloud3-block', part, ofClass)).to.deep.equal([...ofPair, 'default/own/session']);
    const unknown = { key: 'secret:own/key' };
    expect(
      used('third-party', { parameters: unknown }, { session: 'secret:class/session' }),
    ).to.deep.equal(['default/class/session', 'default/own/key']);
  });

  it('are no captured ones beside a complete credential of the volume, once the class was deleted', () => {
    const driverParameters = { ...pair, sessionToken: 'secret:own/lost' };
    expect(used('cloud3-block', { driverParameters, parameters: pair })).to.deep.equal(ofPair);
    expect(used('cloud3-block', { driverParameters })).to.deep.equal([
      ...[...ofPair, 'default/own/lost'],
    ]);
  });

  it('are created with the key that the call of the volume reads', () => {
    const message = inputMessages.secret.missing.format({ object: 'clouds/own' });
    const own = { parameters: { apiTokenSecretRef: 'clouds/own' } };
    const about = aboutVolume('cloud1-volume', own, { apiToken: 'secret:class/key' }, message);
    expect(driverErrors.InvalidParameters.remedy(about).command).to.equal(
      'kedge create secret own -n clouds --from-literal token=VALUE',
    );
    expect(callParameters(about, about)).to.deep.equal(own.parameters);
  });
});
