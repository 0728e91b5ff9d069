import { expect } from 'chai';
import { MemoryEngine, openStore } from 'kedge';
import type { Driver } from '@kedge/driver-sdk';
import { DriverError } from '@kedge/driver-sdk';
import { nodes } from '../node/kind.js';
import type { ParameterResolver } from '../secret/index.js';
import { storageClasses } from '../storage-class/kind.js';
import { PlayedDriver } from '../testing/played-driver.js';
import { checkClass } from './check-class.js';

/** Resolves all values but `secret:absent/key`. */
const resolver = {
  resolve: (parameters: Readonly<Record<string, string>>) => {
    for (const [key, value] of Object.entries(parameters))
      if (value.includes('absent'))
        throw new DriverError(
          'InvalidParameters',
          `parameter ${key}: secret absent does not exist`,
        );
    return parameters;
  },
  rebind: (parameters: Readonly<Record<string, string>>) => parameters,
  confidential: (driver: Driver) => ({ driver }),
} as unknown as ParameterResolver;

describe('the check of a class whose secret is missing', () => {
  it('names the secret, and does not call the driver, which would use another credential', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    const played = await new PlayedDriver().registry().get('played');
    const asked: string[] = [];
    const driver: Driver = Object.assign(Object.create(played ?? null) as Driver, {
      name: 'played',
      validateParameters: (
        given: Readonly<Record<string, string>>,
        { level }: { level: string },
      ) =>
        level === 'resolved' && given.password === undefined
          ? [{ key: 'user', description: 'needs a password' }]
          : [],
      check: () => {
        asked.push('check');
        return Promise.resolve([
          { permission: 'create', state: 'missing', needed: 'volumes', message: 'not logged in' },
        ]);
      },
    });
    const drivers = { get: () => Promise.resolve(driver) } as never;
    const options = { store, drivers, resolver, here: 'n', clusterId: 'c' };
    const check = async (password: string) => {
      const parameters = { user: 'ada', password };
      const storageClass = await store.create(storageClasses, {
        ...{ name: `c-${password.length}`, driver: 'played', parameters },
      });
      const { reports } = await checkClass(options, storageClass, 'default', AbortSignal.any([]));
      return reports.map(({ permission, state, message }) => `${permission} ${state}: ${message}`);
    };
    expect(await check('secret:absent/key')).to.deep.equal([
      'parameter password missing: secret absent does not exist',
      'driver played unknown: not asked without the value of parameter password',
    ]);
    expect(asked).to.deep.equal([]);
    expect(await check('known')).to.deep.equal(['create missing: not logged in']);
    await store.close();
  });
});

describe('the check of a class that names no zone', () => {
  it('checks the zone that a volume would get from a node', async () => {
    const zone = 'svc.io/zone';
    const store = await openStore({ engine: new MemoryEngine() });
    const played = new PlayedDriver();
    played.topologyKeys = [zone];
    played.placeParameters = { [zone]: ['zone'] };
    played.requiredTopologyKeys = [zone];
    const asked: (string | undefined)[] = [];
    const driver: Driver = Object.assign(
      Object.create((await played.registry().get('played')) ?? null) as Driver,
      {
        name: 'played',
        check: ({ parameters }: { readonly parameters: Readonly<Record<string, string>> }) => {
          asked.push(parameters.zone);
          return Promise.resolve([]);
        },
      },
    );
    const drivers = { get: () => Promise.resolve(driver) } as never;
    const options = { store, drivers, resolver, here: 'n', clusterId: 'c' };
    const check = async (name: string, more: object = {}) => {
      const made = await store.create(storageClasses, { name, driver: 'played', ...more });
      await checkClass(options, made, 'default', AbortSignal.any([]));
    };
    await check('early');
    for (const name of ['a', 'b'])
      await store.create(nodes, { name: `in-${name}`, status: 'Ready', labels: { [zone]: name } });
    await check('open');
    await check('named', { parameters: { zone: 'z' } });
    await check('allowed', { allowedTopologies: [{ matchLabels: { [zone]: 'b' } }] });
    expect(asked).to.deep.equal([undefined, 'a', 'z', 'b']);
    await store.close();
  });
});
