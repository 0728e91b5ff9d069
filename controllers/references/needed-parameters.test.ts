import { expect } from 'chai';
import { secretsWithClass, secretsWithoutClass } from './needed-parameters.js';

const pair = { accessKeyId: 'secret:own/id', secretAccessKey: 'secret:own/key' };
const ofClass = {
  ...{ accessKeyId: 'secret:class/id', secretAccessKey: 'secret:class/key' },
  ...{ sessionToken: 'secret:session/key', region: 'secret:place/r' },
};
const own = ['default/own', 'default/own'];

describe('the secrets that driver calls need', () => {
  it('are those of a whole credential of the volume, and those of other parameters', () => {
    const object = { namespace: 'default', parameters: pair, driverParameters: ofClass };
    expect(secretsWithClass(object, ofClass)).to.deep.equal(['default/place', ...own]);
    expect(secretsWithoutClass(object)).to.deep.equal(['default/place', ...own]);
  });

  it('are also those of the class beside a part, or beside literals that may be the captured ones', () => {
    const part = { namespace: 'default', parameters: { accessKeyId: 'secret:own/id' } };
    expect(secretsWithClass(part, ofClass)).to.include.members(['default/class', 'default/own']);
    const literal = { namespace: 'default', parameters: { accessKeyId: 'sealed:a' } };
    const captured = { driverParameters: { ...ofClass, accessKeyId: 'sealed:b' } };
    expect(secretsWithoutClass({ ...literal, ...captured })).to.include('default/class');
  });

  it('are those of the class where an earlier release may have used it', () => {
    const object = {
      ...{ namespace: 'default', parameters: { apiTokenSecretRef: 'default/own' } },
      driverParameters: { apiToken: 'secret:class/key', apiTokenSecretRef: 'default/own' },
    };
    const all = ['default/class', 'default/own'];
    expect(secretsWithoutClass(object)).to.deep.equal(all);
    expect(secretsWithClass(object, { apiToken: 'secret:class/key' })).to.deep.equal(all);
  });

  it('are all of a driver whose credentials are not known by name', () => {
    const object = {
      ...{ namespace: 'default', parameters: { key: 'secret:own/key' } },
      driverParameters: { session: 'secret:class/key' },
    };
    expect(secretsWithoutClass(object)).to.deep.equal(['default/class', 'default/own']);
  });
});
