// A kedged with an additional driver, `faulty`, and a local-host that does not attach directories named `*-stuck`.
// Takes addresses and data directory like kedged.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Driver, DriverError } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { runKedged } from '../fixtures/kedged-parts.js';
import { faultyDriver } from './faulty-driver.js';

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
/** A directory whose name ends with `-stuck` is never attached. */
function sticking(driver: Driver): Driver {
  return {
    ...driver,
    attach: (request) =>
      request.handle.endsWith('-stuck')
        ? Promise.reject(new DriverError('InUse', 'the disk is attached to node other'))
        : driver.attach(request),
  };
}

const faulty = faultyDriver(join(String(values['data-directory']), 'faulty'));
await runKedged({
  options: values,
  file: {},
  driversOf: (settings) => {
    const drivers = builtinDrivers(settings);
    return {
      names: [...drivers.names, faulty.name],
      get: async (name) => {
        if (name === faulty.name) return faulty;
        const driver = await drivers.get(name);
        return name === 'local-host' && driver ? sticking(driver) : driver;
      },
    };
  },
});
