// A kedged whose driver local-host never detaches a directory named `hangs`, and takes the milliseconds of
// KEDGE_TEST_SLOW_MS for one named `slow`, or fails there when it is aborted.
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import type { Driver } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { runKedged } from '../../fixtures/kedged-parts.js';

const slowMs = Number(process.env['KEDGE_TEST_SLOW_MS']);

function slowly(driver: Driver, released: (volume: string) => void): Driver {
  return {
    ...driver,
    detach: async (request) => {
      const name = basename(request.handle);
      // A driver that ignores its signal.
      if (name === 'hangs') await new Promise(() => undefined);
      if (name === 'slow')
        await new Promise((resolve, reject) => {
          const timer = setTimeout(resolve, slowMs);
          request.signal.addEventListener('abort', () => {
            clearTimeout(timer);
            reject(new Error('interrupted'));
          });
        });
      await driver.detach(request);
      released(name);
    },
  };
}

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    'data-directory': text,
    'grpc-address': text,
    'rest-address': text,
    'ops-address': text,
  },
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
        return name === 'local-host' && driver
          ? slowly(driver, (volume) => log('test: detached', { volume }))
          : driver;
      },
    };
  },
});
