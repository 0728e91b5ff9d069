import { expect } from 'chai';
import type { Driver, Parameters } from '@kedge/driver-sdk';
import { holderOf } from '../secret/index.js';
import type { StorageClass } from '../storage-class/kind.js';
import { volumes } from '../volume/kind.js';
import { capturedBeside, mergedParameters } from './credentials.js';
import { driverCall } from './driver-call.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };

function driverWith(
  keys: readonly string[],
  wholeCredentials?: readonly (readonly string[])[],
): Driver {
  const capabilities = {
    sensitiveParameters: keys,
    ...(wholeCredentials ? { wholeCredentials } : {}),
  };
  return { capabilities: () => capabilities } as unknown as Driver;
}

const tokens = driverWith(['apiToken', 'apiTokenSecretRef'], [['apiToken'], ['apiTokenSecretRef']]);
const keys = ['accessKeyId', 'secretAccessKey', 'sessionToken'];
const temporary = driverWith(keys, [['accessKeyId', 'secretAccessKey']]);
const undeclared = driverWith(keys);
const pair = { accessKeyId: 'id', secretAccessKey: 'secret' };

describe('the credentials of a volume', () => {
  describe('beside those of its class', () => {
    const merged = (driver: Driver, ofClass: Parameters, own: Parameters): Parameters =>
      mergedParameters(driver, { region: 'r', ...ofClass }, own);

    it('are used alone if they are complete, in each of their forms', () => {
      expect(merged(tokens, { apiToken: 'c' }, { apiTokenSecretRef: 'a/b' })).to.deep.equal({
        ...{ region: 'r', apiTokenSecretRef: 'a/b' },
      });
      const ofClass = { accessKeyId: 'c', secretAccessKey: 'c', sessionToken: 'c' };
      expect(merged(temporary, ofClass, pair)).to.deep.equal({ region: 'r', ...pair });
    });

    it('are completed by those of the class if they are a part', () => {
      const ofClass = { ...pair, sessionToken: 'c' };
      for (const key of keys)
        expect(merged(temporary, ofClass, { [key]: 'own' })).to.deep.equal({
          ...{ region: 'r', ...ofClass, [key]: 'own' },
        });
      expect(merged(temporary, { ...pair }, { accessKeyId: '' })).to.include({ accessKeyId: '' });
    });

    it('are merged key by key (specification section 2.2) if the driver declares no whole ones', () => {
      expect(merged(undeclared, { sessionToken: 'c' }, pair)).to.deep.equal({
        ...{ region: 'r', ...pair, sessionToken: 'c' },
      });
    });

    it('are those of the calls', async () => {
      const storageClass: StorageClass = {
        ...{ name: 'c', driver: 'd', metadata },
        parameters: { ...pair, sessionToken: 'of the class' },
      };
      const parts = {
        drivers: { names: ['d'], get: () => Promise.resolve(temporary) },
        resolver: { rebind: (given: Parameters) => given },
        holder: holderOf(volumes, { namespace: 'n', name: 'v' }),
      };
      const volume = { storageClassName: 'c', parameters: pair };
      expect((await driverCall(parts, volume, storageClass)).parameters).to.deep.equal(pair);
    });
  });

  describe('beside captured ones, once the class is gone', () => {
    const all = { ...pair, sessionToken: 'lost' };

    it('are used without a session token alone that the volume has lost', () => {
      // An earlier release recorded no names.
      for (const ownParameters of [undefined, keys])
        expect(
          capturedBeside(temporary, { driverParameters: all, ownParameters }, pair),
        ).to.deep.equal({});
      const captured = { driverParameters: all, ownParameters: keys };
      expect(capturedBeside(undeclared, captured, pair)).to.deep.equal(pair);
    });

    it('are those of the class, without the lost one, if these are whole', () => {
      const captured = { driverParameters: all, ownParameters: ['sessionToken'] };
      expect(capturedBeside(temporary, captured, {})).to.deep.equal(pair);
      const part = { driverParameters: all, ownParameters: ['secretAccessKey', 'sessionToken'] };
      expect(capturedBeside(temporary, part, { secretAccessKey: 'secret' })).to.deep.equal(pair);
      const legacy = { apiToken: 'lost', apiTokenSecretRef: 'a/b' };
      const both = { driverParameters: legacy, ownParameters: ['apiToken'] };
      expect(capturedBeside(tokens, both, {})).to.deep.equal({ apiTokenSecretRef: 'a/b' });
    });

    it('are those of the class for a part that the volume has renewed', () => {
      const captured = { driverParameters: all, ownParameters: ['sessionToken'] };
      const renewed = capturedBeside(temporary, captured, { sessionToken: 'new' });
      expect(renewed).to.deep.equal(pair);
      // For an object of an earlier release it is not known what the class gave.
      const unknown = capturedBeside(temporary, { driverParameters: all }, { sessionToken: 'new' });
      expect(unknown).to.deep.equal({});
    });

    it('are those of the class if an earlier release created the resource in its account', () => {
      const own = { apiTokenSecretRef: 'a/b' };
      const captured = { driverParameters: { apiToken: 'class', ...own } };
      expect(capturedBeside(tokens, captured, own)).to.deep.equal({ apiToken: 'class', ...own });
      const live = { apiToken: 'rotated' };
      expect(mergedParameters(tokens, live, own, captured)).to.deep.equal({ ...live, ...own });
      // Another own credential, one that was not captured, and one that the volume had itself and lost.
      for (const each of [{ apiTokenSecretRef: 'a/c' }, { apiToken: 'own' }])
        expect(mergedParameters(tokens, live, each, captured)).to.deep.equal(each);
      expect(
        mergedParameters(tokens, live, own, { ...captured, ownParameters: ['apiToken'] }),
      ).to.deep.equal(own);
    });

    it('stay the captured ones if no other credential is left', () => {
      const captured = { driverParameters: all, ownParameters: keys };
      expect(capturedBeside(temporary, captured, {})).to.deep.equal(all);
      expect(capturedBeside(undeclared, captured, {})).to.deep.equal(all);
      expect(capturedBeside(temporary, captured, { accessKeyId: 'id' })).to.deep.equal(all);
    });
  });
});
