import { expect } from 'chai';
import { builtinCredentials, credentialsIn, declaredCredentials } from '@kedge/driver-sdk';
import { builtinDrivers } from './index.js';

const registry = builtinDrivers({
  localVolumeRoot: '/nowhere',
  hostPathAllowlist: [],
  allowCreateMissing: false,
});

describe('the credentials of the built-in drivers', () => {
  for (const name of registry.names)
    it(`are declared for components without a driver as ${name} declares them`, async () => {
      const driver = await registry.get(name);
      if (!driver) return expect.fail('the driver is not registered');
      const { keys, whole } = credentialsIn(driver.capabilities());
      const declared = declaredCredentials(name);
      expect([...(declared?.keys ?? [])].sort()).to.deep.equal([...keys].sort());
      expect(declared?.whole).to.deep.equal(whole);
      for (const key of whole?.flat() ?? []) expect(keys).to.include(key);
    });

  it('are those of drivers that are registered', () => {
    expect(registry.names).to.include.members(Object.keys(builtinCredentials));
  });
});
