// A kedged in which a driver of an asynchronous provider replaces local-host. Takes addresses and data directory
// like kedged, and --provider: the folder of the provider's process.
import { parseArgs } from 'node:util';
import { type Driver, isPending, type OperationKind } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { runKedged } from '../../fixtures/kedged-parts.js';
import { loopCloud } from '../../drivers/loop-cloud.js';
import { ProviderCalls } from '../../drivers/provider/calls.js';

/** The driver. Each call reports its answer to the provider before the daemon receives it. */
function reporting(driver: Driver, calls: ProviderCalls): Driver {
  const reportingCall =
    <Q, R>(kind: OperationKind, call: (request: Q) => Promise<R>) =>
    async (request: Q): Promise<R> => {
      const answer = await call(request);
      if (!isPending(answer)) await calls.answered(kind);
      return answer;
    };
  return {
    ...driver,
    provision: reportingCall('provision', (request) => driver.provision(request)),
    restore: reportingCall('restore', (request) => driver.restore(request)),
    delete: reportingCall('delete', (request) => driver.delete(request)),
    attach: reportingCall('attach', (request) => driver.attach(request)),
    detach: reportingCall('detach', (request) => driver.detach(request)),
    expand: reportingCall('expand', (request) => driver.expand(request)),
    createSnapshot: reportingCall('createSnapshot', (request) => driver.createSnapshot(request)),
    deleteSnapshot: reportingCall('deleteSnapshot', (request) => driver.deleteSnapshot(request)),
  };
}

const { values } = parseArgs({
  options: {
    'data-directory': { type: 'string' },
    'grpc-address': { type: 'string' },
    'rest-address': { type: 'string' },
    'ops-address': { type: 'string' },
    provider: { type: 'string' },
  },
});
const { provider: folder = '' } = values;
const calls = new ProviderCalls(folder);
/** The runtime of processes supports volumes of this driver only, and there is no other runtime. */
const name = 'local-host';
const cloud = reporting(loopCloud({ folder, name }), calls);
await runKedged({
  options: values,
  file: {
    controllers: { driverBackoffBaseMs: 50, driverBackoffMaxMs: 500, stalledProbeMs: 1_000 },
  },
  driversOf: (settings) => {
    const others = builtinDrivers(settings);
    return {
      names: others.names,
      get: (other) => (other === name ? Promise.resolve(cloud) : others.get(other)),
    };
  },
});
