// A kedged with the driver loop-block, whose images are beside its data directory.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { builtinDrivers } from '@kedge/drivers';
import { LoopBlock } from '../drivers/loop-block.js';
import { runKedged } from '../fixtures/kedged-parts.js';

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
const { driver } = new LoopBlock({
  directory: join(String(values['data-directory']), '..', 'blocks'),
});
await runKedged({
  options: values,
  file: {},
  driversOf: (settings) => {
    const drivers = builtinDrivers(settings);
    return {
      names: [...drivers.names, driver.name],
      onNodes: drivers.onNodes ?? [],
      ...(drivers.declaredCredentials ? { declaredCredentials: drivers.declaredCredentials } : {}),
      get: (name) => (name === driver.name ? Promise.resolve(driver) : drivers.get(name)),
    };
  },
});
