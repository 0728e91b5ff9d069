import { expect } from 'chai';
import { DriverError } from '@kedge/driver-sdk';
import { checkPermissions } from './inspection.js';
import { allPermissions } from './permissions.js';
import type { Requests } from './requests.js';

describe('the check of a class of cloud4-disk whose package is not installed', () => {
  it('names the package, makes no request, and does not report that the endpoint did not answer', async () => {
    const words = 'driver cloud4-disk needs the package, which is not installed; run: install it';
    const asked = (): never => expect.fail('the provider was asked');
    const requests = {
      classCallerOf: () => ({}),
      projectOf: asked,
      get api() {
        return asked();
      },
    } as unknown as Requests;
    const sdk = (): never => {
      throw new DriverError('Unavailable', words);
    };
    const { signal } = new AbortController();
    const request = { parameters: { zone: 'europe-west3-a' }, node: 'n', signal };
    const parts = { requests, endpoint: 'http://nowhere', sdk };
    const [first, ...others] = await checkPermissions(parts, request);
    expect(first).to.deep.equal({
      ...{ permission: 'package @google-cloud/compute', needed: 'every call of the provider' },
      ...{ state: 'missing', message: words },
    });
    expect(others.map(({ permission }) => permission)).to.deep.equal(
      allPermissions.map(({ permission }) => permission),
    );
    for (const { state, message } of others)
      expect({ state, message }).to.deep.equal({
        ...{ state: 'unknown', message: 'the check needs the package' },
      });
  });
});
