// A kedged that logs each call of a driver. Takes addresses and data directory like kedged.
import { parseArgs } from 'node:util';
import type { Driver } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { runKedged } from '../../fixtures/kedged-parts.js';

/** Methods of a driver that are not logged: they make no call of the provider or the node. */
const questions: readonly PropertyKey[] = ['capabilities', 'validateParameters'];

function logging(driver: Driver, onCall: (call: string) => void): Driver {
  return new Proxy(driver, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function' || questions.includes(name)) return value;
      return (...given: unknown[]): unknown => {
        onCall(String(name));
        return Reflect.apply(value, target, given) as unknown;
      };
    },
  });
}

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    'data-directory': text,
    'grpc-address': text,
    'rest-address': text,
    'ops-address': text,
  },
  // An address is given twice if a test chooses its port.
  strict: false,
});
await runKedged({
  options: values,
  file: {},
  driversOf: (settings, log) => {
    const drivers = builtinDrivers(settings);
    return {
      names: drivers.names,
      get: async (name) => {
        const driver = await drivers.get(name);
        return driver && logging(driver, (call) => log('driver call', { driver: name, call }));
      },
    };
  },
});
