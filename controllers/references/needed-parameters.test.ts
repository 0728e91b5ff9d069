import { expect } from 'chai';
import { cloudCredentials } from '../testing/cloud-credentials.js';
import {
  type NeededOf,
  secretsOfAnyDriver,
  secretsWithClass,
  secretsWithoutClass,
} from './needed-parameters.js';

type Parameters = Readonly<Record<string, string>>;

const pair = { accessKeyId: 'secret:own/id', secretAccessKey: 'secret:own/key' };
const ofClass = {
  ...{ accessKeyId: 'secret:class/id', secretAccessKey: 'secret:class/key' },
  ...{ sessionToken: 'secret:session/key', region: 'secret:place/r' },
};
const own = ['default/own', 'default/own'];

const driver = 'cloud3-block';
const withClass = (object: NeededOf, parameters: Parameters, name = driver): readonly string[] =>
  secretsWithClass(object, { driver: name, parameters }, cloudCredentials);
const withoutClass = (object: NeededOf): readonly string[] =>
  secretsWithoutClass(object, cloudCredentials);

describe('the secrets that driver calls need', () => {
  it('are those of a complete credential of the volume, and those of other parameters', () => {
    const object = { driver, namespace: 'default', parameters: pair, driverParameters: ofClass };
    expect(withClass(object, ofClass)).to.deep.equal(['default/place', ...own]);
    expect(withoutClass(object)).to.deep.equal(['default/place', ...own]);
    // Before it is provisioned, its driver is that of the class.
    expect(withClass({ ...object, driver: '' }, ofClass)).to.deep.equal(['default/place', ...own]);
  });

  it('are also those of the class beside a part, or beside literals that may be the captured ones', () => {
    const part = { driver, namespace: 'default', parameters: { accessKeyId: 'secret:own/id' } };
    expect(withClass(part, ofClass)).to.include.members(['default/class', 'default/own']);
    const literal = { driver, namespace: 'default', parameters: { accessKeyId: 'sealed:a' } };
    const captured = { driverParameters: { ...ofClass, accessKeyId: 'sealed:b' } };
    expect(withoutClass({ ...literal, ...captured })).to.include('default/class');
  });

  it('are those of the class where an earlier release may have used it', () => {
    const object = {
      ...{ driver: 'cloud1-volume', namespace: 'default' },
      parameters: { apiTokenSecretRef: 'default/own' },
      driverParameters: { apiToken: 'secret:class/key', apiTokenSecretRef: 'default/own' },
    };
    const all = ['default/class', 'default/own'];
    expect(withoutClass(object)).to.deep.equal(all);
    expect(withClass(object, { apiToken: 'secret:class/key' }, 'cloud1-volume')).to.deep.equal(all);
  });

  it('are all of a driver whose credentials are not known, also with the names of a known one', () => {
    const captured = { apiToken: 'secret:token/key', credentialsJSON: 'secret:class/key' };
    const object = {
      ...{ driver: 'theirs', namespace: 'default', driverParameters: captured },
      parameters: { apiToken: 'secret:own/key' },
    };
    const both = ['default/own', 'default/class'];
    expect(withoutClass(object)).to.deep.equal(both);
    for (const of of ['theirs', ''])
      expect(withClass({ ...object, driver: of }, captured, 'theirs')).to.deep.equal(both);
  });

  it('are among those of any driver', () => {
    const object = { namespace: 'default', parameters: pair, driverParameters: ofClass };
    for (const of of [driver, 'theirs'])
      expect(secretsOfAnyDriver(object)).to.include.members([
        ...withoutClass({ ...object, driver: of }),
      ]);
  });
});
