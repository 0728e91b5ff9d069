// A kedged whose driver local-host has no denylist, so that volumes may have the daemon's own directories.
import { parseArgs } from 'node:util';
import { builtinDrivers } from '@kedge/drivers';
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
await runKedged({
  options: values,
  file: {},
  driversOf: (settings) => builtinDrivers({ ...settings, hostPathDenylist: [] }),
});
