import { expect } from 'chai';
import { credentialForms, credentialsIn, type DeclaredCredentials } from '@kedge/driver-sdk';
import { builtinDrivers, declaredCredentials } from './index.js';

const registry = builtinDrivers({
  localVolumeRoot: '/nowhere',
  hostPathAllowlist: [],
  allowCreateMissing: false,
});

const comparable = ({ keys, whole }: DeclaredCredentials) => ({ keys: [...keys].sort(), whole });

/** The credentials that a loaded driver declares, or undefined if it has none. */
async function credentialsOf(name: string) {
  const driver = await registry.get(name);
  if (!driver) return expect.fail('the driver is not registered');
  const declared = credentialsIn(driver.capabilities());
  return declared.keys.length > 0 ? comparable(declared) : undefined;
}

describe('the credentials of the built-in drivers', () => {
  for (const name of registry.names)
    it(`are known before it is loaded: ${name}`, async () => {
      const known = registry.declaredCredentials?.get(name);
      expect(known && comparable(known)).to.deep.equal(await credentialsOf(name));
    });

  it('use every form', () => {
    const used = [...declaredCredentials.values()];
    for (const form of Object.values(credentialForms)) expect(used).to.include(form);
  });
});
