// A kedged in which a driver of an asynchronous provider has the place of local-host. Takes the daemon's addresses
// and data directory as kedged does, and --provider: the folder of the provider's process.
import { parseArgs } from 'node:util';
import type { daemonLogger } from '../../../cmd/kedged/daemon-logger.js';
import type { resolveSettings } from '../../../cmd/kedged/settings.js';
import type { startDaemon } from '../../../cmd/kedged/wire.js';
import { type Driver, isPending, type OperationKind } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { loopCloud } from '../../drivers/loop-cloud.js';
import { ProviderCalls } from '../../drivers/provider/calls.js';

interface Composition {
  readonly daemonLogger: typeof daemonLogger;
  readonly resolveSettings: typeof resolveSettings;
  readonly startDaemon: typeof startDaemon;
}

/** The daemon's composition root is no library: it is loaded from where it was built. */
async function composition(): Promise<Composition> {
  const load = async (name: string): Promise<object> => {
    const built = new URL(`../../../../cmd/dist/kedged/${name}.js`, import.meta.url);
    return (await import(built.href)) as object;
  };
  const [logger, settings, wire] = [load('daemon-logger'), load('settings'), load('wire')];
  return { ...(await logger), ...(await settings), ...(await wire) } as Composition;
}

/** The driver, each call of which tells the provider that it has answered before the daemon hears of it. */
function telling(driver: Driver, calls: ProviderCalls): Driver {
  const told =
    <Q, R>(kind: OperationKind, call: (request: Q) => Promise<R>) =>
    async (request: Q): Promise<R> => {
      const answer = await call(request);
      if (!isPending(answer)) await calls.answered(kind);
      return answer;
    };
  return {
    ...driver,
    provision: told('provision', (request) => driver.provision(request)),
    restore: told('restore', (request) => driver.restore(request)),
    delete: told('delete', (request) => driver.delete(request)),
    attach: told('attach', (request) => driver.attach(request)),
    detach: told('detach', (request) => driver.detach(request)),
    expand: told('expand', (request) => driver.expand(request)),
    createSnapshot: told('createSnapshot', (request) => driver.createSnapshot(request)),
    deleteSnapshot: told('deleteSnapshot', (request) => driver.deleteSnapshot(request)),
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
const kedged = await composition();
const config = kedged.resolveSettings({
  flags: {
    'store.path': values['data-directory'] ?? '',
    'server.grpcAddress': values['grpc-address'] ?? '',
    'server.restAddress': values['rest-address'] ?? '',
    'server.opsAddress': values['ops-address'] ?? '',
    'node.name': 'here',
  },
  environment: process.env,
  file: {
    controllers: { driverBackoffBaseMs: 50, driverBackoffMaxMs: 500, stalledProbeMs: 1_000 },
  },
  profile: {},
});
const calls = new ProviderCalls(folder);
/** The runtime of processes takes volumes of this driver only, and there is no other runtime. */
const name = 'local-host';
const cloud = telling(loopCloud({ folder, name }), calls);
const logger = kedged.daemonLogger('info');
const daemon = await kedged.startDaemon(
  config,
  logger,
  () => Promise.resolve(),
  (settings) => {
    const others = builtinDrivers(settings);
    return {
      names: others.names,
      get: (other) => (other === name ? Promise.resolve(cloud) : others.get(other)),
    };
  },
);
logger.info('ready', { ...daemon.ports, sinceStartMs: Math.round(performance.now()) });
process.on('SIGTERM', () => {
  void daemon.stop(10_000).finally(() => process.exit(0));
});
