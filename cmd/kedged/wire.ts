import { join, resolve } from 'node:path';
import {
  type EmbeddedStore,
  lockDirectory,
  type Logger,
  Manager,
  systemClock,
  systemRandom,
} from 'kedge';
import { SchemaRegistry } from 'kedge/rpc';
import { ApiServer, seedPolicies, TlsSource } from 'kedge/server';
import { descriptorSet } from '@kedge/api/descriptors';
import {
  accessPolicies,
  Agent,
  agentOfStore,
  allKinds,
  availableNames,
  DataFiles,
  dataFilesDirectory,
  foreignGuard,
  KeyRotation,
  loadKindsApi,
  namespaces,
  NodeRegistration,
  nodeRestriction,
  nodes,
  parameterResolver,
  Sealer,
  secrets,
  seedClasses,
  seedNamespaces,
  StorageRootManager,
  StorageRootWatch,
  thawLeftovers,
  TransitionEvents,
} from '@kedge/controllers';
import { directoryJournal, type DriverRegistry, type StorageSettings } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { version } from '../version.js';
import { AuditLog, auditFileAt } from './telemetry/audit-log.js';
import { type DaemonData, openDaemonData } from './data/data-directory.js';
import { deniedHostPaths, denyEngineDirectory } from './config/denied-host-paths.js';
import { type DaemonKeys, keyPlace } from './config/key-file.js';
import { PrometheusMetrics } from './telemetry/prometheus-metrics.js';
import { providerPorts } from './telemetry/provider-metrics.js';
import { nodeRuntimes } from './node-runtimes.js';
import { nodeVolumes } from './node-volumes.js';
import { OpsServer } from './telemetry/ops-server.js';
import { bound, parseAddress } from './config/listening.js';
import type { DaemonConfig } from './config/settings.js';

/** A running daemon. */
export interface Daemon {
  readonly ports: { readonly grpc: number; readonly rest: number; readonly ops: number };
  /**
   * Stops workloads, volumes, API, controllers and store in this order; the parts before the store within the budget.
   * @throws StatusError as {@link Manager.stop}; the store is closed then
   */
  stop(budgetMs: number): Promise<void>;
}

/**
 * Constructs the parts of the daemon and starts them. The parts of the node are in node-runtimes.ts and
 * node-volumes.ts. If the start fails, the store is closed.
 * @param beforeListen called when the store is open and before the API listens
 * @param driversOf returns the drivers, of this project or of another one
 * @param opening the data directory that the caller already opens
 */
export async function startDaemon(
  config: DaemonConfig,
  logger: Logger,
  beforeListen: (store: EmbeddedStore) => Promise<void>,
  driversOf: (settings: StorageSettings) => DriverRegistry = builtinDrivers,
  opening: Promise<DaemonData> = openDaemonData(config, logger),
): Promise<Daemon> {
  const { keys, store } = await opening;
  try {
    await beforeListen(store);
    return await assemble(config, logger, store, keys, driversOf);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Reads the configured certificates; undefined without any.
 * @throws StatusError InvalidArgument that names an unusable file
 */
async function tlsOf(config: DaemonConfig, logger: Logger): Promise<TlsSource | undefined> {
  const { tlsCertFile, tlsKeyFile, tlsClientCaFile } = config;
  if (tlsCertFile === '') return undefined;
  const files = {
    certFile: tlsCertFile,
    keyFile: tlsKeyFile,
    ...(tlsClientCaFile === '' ? {} : { clientCaFile: tlsClientCaFile }),
  };
  return TlsSource.open(files, systemClock, logger);
}

async function assemble(
  config: DaemonConfig,
  logger: Logger,
  store: EmbeddedStore,
  keys: DaemonKeys,
  driversOf: (settings: StorageSettings) => DriverRegistry,
): Promise<Daemon> {
  const { dataDirectory, nodeName: node, policy } = config;
  const clock = systemClock;
  const random = systemRandom;
  await Promise.all([
    seedPolicies(store, accessPolicies),
    seedNamespaces(store),
    seedClasses(store),
  ]);
  const metrics = new PrometheusMetrics();
  const [key, ...olderKeys] = keys.keys;
  if (!key) throw new TypeError('there is no key-encryption key');
  const sealer = new Sealer(key, ...olderKeys);
  const tls = await tlsOf(config, logger);
  const audit =
    config.audit === 'off'
      ? undefined
      : new AuditLog({
          file: await auditFileAt(config.auditFile || join(dataDirectory, 'audit.jsonl')),
          scope: config.audit === 'all' ? 'all' : 'writes',
          logger,
          metrics,
          clock,
        });
  const manager = new Manager({ store, clock, random, logger, metrics });
  const dataFiles = new DataFiles(dataFilesDirectory(dataDirectory), dataDirectory);
  const resolver = parameterResolver(manager.informer(secrets).lister, sealer);
  const parts = { dataFiles, store, manager, resolver, clock, random, logger };
  const hostPathDenylist = [...(await deniedHostPaths(config, dataFiles.directory))];
  const onEngineDirectory = denyEngineDirectory(hostPathDenylist);
  const runtimes = await nodeRuntimes(config, { ...parts, onEngineDirectory });
  const { host, changeOwner } = runtimes;
  const storageRoot = new StorageRootManager({
    store,
    node,
    driver: 'local',
    path: resolve(config.localVolumeRoot),
    lock: lockDirectory,
    logger: logger.child({ part: 'storage root' }),
    holders: host.holders,
  });
  const journal = directoryJournal(join(dataDirectory, 'node-journal'));
  const { clusterId } = store;
  const providers = providerPorts(metrics, clock);
  const nodePorts = { storageRoot, journal, host, node, clusterId, providers };
  const drivers = foreignGuard(driversOf({ ...config, hostPathDenylist, ...nodePorts }), {
    store,
    logger: logger.child({ part: 'copy' }),
  });
  const common = { store, manager, clock, random, logger, policy };
  const nodeParts = { ...common, drivers, resolver, journal, host, changeOwner, sealer, metrics };
  const volumeManager = await nodeVolumes(config, nodeParts);
  const agent = new Agent({
    ...common,
    node,
    runtimes: runtimes.all,
    volumeManager,
    sealer,
    dataFiles,
  });
  const rotation = new KeyRotation({ store, sealer, keys, kinds: allKinds, logger });
  const options = {
    ...common,
    rotation,
    resolver,
    here: node,
    storageRoot,
    clusterId,
    backups: { store, keyPlace: keyPlace(dataDirectory, config.kekFile, process.env.KEDGE_KEK) },
    drivers,
    sealer,
    runtimes: runtimes.all,
    node,
    images: runtimes.images,
    defaultStorageClass: config.defaultStorageClass || undefined,
  };
  const kindsApi = await loadKindsApi();
  const api = new ApiServer({
    store,
    schemas: new SchemaRegistry(descriptorSet),
    packageName: 'api',
    kinds: kindsApi.servedKinds(options),
    custom: (parts) => kindsApi.customMethods(parts, options),
    objectAccess: nodeRestriction(manager, drivers),
    nodes,
    namespaces,
    ...(audit ? { audit } : {}),
    ...(tls ? { tls } : {}),
    corsOrigins: config.corsOrigins,
    connections: { max: config.maxConnections },
    comments: async () => (await import('@kedge/api/comments')).comments,
    serving: () => manager.health().every((check) => check.healthy),
    metrics,
    logger: logger.child({ part: 'api' }),
  });
  const ops = new OpsServer(
    () => [...manager.health(), storageRoot.health()],
    () => metrics.text(),
  );
  const ports = { grpc: 0, rest: 0, ops: 0 };
  const addresses = {
    grpc: parseAddress('server.grpcAddress', config.grpcAddress),
    rest: parseAddress('server.restAddress', config.restAddress),
  };
  const apiRunnable = api.runnable(addresses, {
    onListening: (listening) => Object.assign(ports, listening),
  });

  // Created before the start, so that their informers start with the others.
  const { all: controllers, callers } = kindsApi.controllers({
    ...common,
    drivers,
    resolver,
    node,
  });
  manager
    .addRunnable(new StorageRootWatch({ ...common, storageRoot, node }))
    // The API listens before the agent starts: if another daemon has the port, no agent has touched its workloads.
    .addRunnable({
      ...apiRunnable,
      start: (signal) => {
        const where = `${config.grpcAddress} and ${config.restAddress}`;
        const listening = apiRunnable.start(signal);
        return bound('server.grpcAddress and server.restAddress', where, listening);
      },
    })
    .addRunnable({
      name: 'ops',
      start: async () => {
        const { host, port } = parseAddress('server.opsAddress', config.opsAddress);
        ports.ops = await bound('server.opsAddress', config.opsAddress, ops.listen(host, port));
      },
      stop: () => ops.close(),
    })
    .addRunnable(
      new NodeRegistration({
        store,
        name: node,
        labels: config.nodeLabels,
        address: parseAddress('server.grpcAddress', config.grpcAddress).host,
        version,
        drivers: drivers.names,
        runtimes: () => availableNames(runtimes.all),
        clock,
        logger,
        policy,
        life: agentOfStore(random),
        callers,
        onReplaced: ({ message }) => logger.error(message),
      }),
    )
    .addRunnable(
      new TransitionEvents({ ...common, metrics, logger: logger.child({ part: 'events' }) }),
    )
    .addRunnable(agent);
  await thawLeftovers({ journal, logger, clock });
  await manager.start();
  // Last, because the first reconcile of each object would slow down the rest of the start.
  for (const controller of controllers) manager.addController(controller);
  try {
    await Promise.all(controllers.map((controller) => controller.start()));
  } catch (error) {
    await manager.stop(0).catch(() => undefined); // remaining parts are in the log
    throw error;
  }
  return {
    ports,
    stop: async (budgetMs) => {
      try {
        await manager.stop(budgetMs);
      } finally {
        tls?.close();
        await audit?.close();
        await storageRoot.close();
        await store.close();
      }
    },
  };
}
