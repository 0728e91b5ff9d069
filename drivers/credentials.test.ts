import { expect } from 'chai';
import { credentialForms, credentialsIn, credentialsNamed } from '@kedge/driver-sdk';
import { builtinDrivers } from './index.js';

const registry = builtinDrivers({
  localVolumeRoot: '/nowhere',
  hostPathAllowlist: [],
  allowCreateMissing: false,
});

/** The credentials that a driver declares, or undefined if it has none. */
async function credentialsOf(name: string) {
  const driver = await registry.get(name);
  if (!driver) return expect.fail('the driver is not registered');
  const { keys, whole } = credentialsIn(driver.capabilities());
  return keys.length > 0 ? { keys: [...keys].sort(), whole } : undefined;
}

const forms = Object.values(credentialForms).map(({ keys, whole }) => ({
  keys: [...keys].sort(),
  whole,
}));

describe('the credentials of the built-in drivers', () => {
  for (const name of registry.names)
    it(`have one of the forms that components without a driver know: ${name}`, async () => {
      const declared = await credentialsOf(name);
      if (!declared) return;
      expect(forms).to.deep.include(declared);
      const named = credentialsNamed(Object.fromEntries(declared.keys.map((key) => [key, 'x'])));
      expect(named?.keys).to.include.members(declared.keys);
      expect(named?.whole).to.deep.include.members([...(declared.whole ?? [])]);
    });

  it('use every form', async () => {
    const all = await Promise.all(registry.names.map(credentialsOf));
    for (const form of forms) expect(all).to.deep.include(form);
  });
});
