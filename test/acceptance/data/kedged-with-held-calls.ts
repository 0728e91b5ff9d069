// A kedged that holds the driver calls that the file `held` beside its data directory names (see held-calls.ts). Takes
// addresses and data directory like kedged.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { builtinDrivers } from '@kedge/drivers';
import { runKedged } from '../../fixtures/kedged-parts.js';
import { withHeldCalls } from '../../fixtures/held-calls.js';

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    'data-directory': text,
    'grpc-address': text,
    'rest-address': text,
    'ops-address': text,
  },
});
await runKedged({
  options: values,
  file: {},
  driversOf: (settings, log) =>
    withHeldCalls(
      builtinDrivers(settings),
      join(values['data-directory'] ?? '', '..', 'held'),
      (call) => log('call held', { call }),
    ),
});
