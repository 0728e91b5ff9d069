/**
 * The agent of a node as a separate process over the object service of a daemon, with a node's token only. Its
 * settings are the first argument, as JSON.
 */
import { join } from 'node:path';
import {
  type ListWatch,
  lockDirectory,
  type Logger,
  Manager,
  type ObjectStore,
  systemClock,
  systemRandom,
} from 'kedge';
import { RemoteStore } from 'kedge/client';
import {
  Agent,
  AgentConnection,
  availableNames,
  ContainerRuntime,
  DataFiles,
  dataFilesDirectory,
  defaultPolicy,
  EngineClient,
  ImageRecords,
  Images,
  instances,
  NodeImages,
  NodeRegistration,
  openAgentDirectory,
  parameterResolver,
  ProcessRuntime,
  Sealer,
  secrets,
  snapshotController,
  thawLeftovers,
  UsedParameters,
  volumeController,
  VolumeManager,
} from '@kedge/controllers';
import { kedgeClient } from '@kedge/api/client';
import { directoryJournal } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { LoopBlock } from '../../drivers/loop-block.js';
import { withHeldCalls } from '../../fixtures/held-calls.js';

/** The settings of the process. */
export interface AgentSettings {
  readonly server: string;
  readonly token: string;
  readonly node: string;
  readonly directory: string;
  readonly hostPathAllowlist: readonly string[];
  readonly heartbeatMs: number;
  /** Path of a file: the driver call that it names waits while it exists; see `withHeldCalls`. */
  readonly held?: string;
  /** The socket of a container engine; absent: the agent runs processes only. */
  readonly dockerSocket?: string;
  /** The directory of the driver loop-block; absent: the agent does not have the driver. */
  readonly blocks?: string;
}

const settings = JSON.parse(process.argv[2] ?? '{}') as AgentSettings;
const {
  server,
  token,
  node,
  directory,
  hostPathAllowlist,
  heartbeatMs,
  held: heldCalls,
  dockerSocket,
  blocks,
} = settings;
const clock = systemClock;
const random = systemRandom;

/** Lines of JSON on standard error. */
function lineLogger(context: object = {}): Logger {
  const log = (message: string, fields: object = {}): void => {
    process.stderr.write(`${JSON.stringify({ msg: message, ...context, ...fields })}\n`);
  };
  const child = (fields: object): Logger => lineLogger({ ...context, ...fields });
  return { debug: () => undefined, info: log, warn: log, error: log, child };
}
const logger = lineLogger();
const held = await openAgentDirectory({ directory, lock: lockDirectory, random });

/** A node's token reads single secrets only, so there is no cache of secrets. */
const noSecrets: ListWatch<never> = {
  list: () => Promise.resolve({ items: [], revision: 0 }),
  watch: (_revision, _sink, signal) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve());
    }),
};
const remote = await RemoteStore.connect({ server, token, logger });
const store = new Proxy<ObjectStore>(remote, {
  get: (target, name) => {
    if (name === 'source')
      return ((kind) =>
        kind.kind === secrets.kind ? noSecrets : target.source(kind)) as ObjectStore['source'];
    const value: unknown = Reflect.get(target, name, target);
    return typeof value === 'function' ? (value.bind(target) as unknown) : value;
  },
});

const policy = { ...defaultPolicy, heartbeatMs };
const manager = new Manager({ store, clock, random, logger });
const common = { store, manager, clock, random, logger, policy, node };
const journal = directoryJournal(join(directory, 'node-journal'));
const builtin = builtinDrivers({
  localVolumeRoot: join(directory, 'volumes'),
  journal,
  hostPathAllowlist,
  allowCreateMissing: true,
});
const block = blocks === undefined ? undefined : new LoopBlock({ directory: blocks }).driver;
const own = block
  ? {
      names: [...builtin.names, block.name],
      onNodes: builtin.onNodes ?? [],
      ...(builtin.declaredCredentials ? { declaredCredentials: builtin.declaredCredentials } : {}),
      get: (name: string) => (name === block.name ? Promise.resolve(block) : builtin.get(name)),
    }
  : builtin;
const drivers =
  heldCalls === undefined
    ? own
    : withHeldCalls(own, heldCalls, (call) => logger.info('call held', { call }));
const sealer = new Sealer(Buffer.alloc(32));
const dataFiles = new DataFiles(dataFilesDirectory(directory), directory);
const processes = new ProcessRuntime({
  directory: join(directory, 'instances'),
  hiddenDirectories: [directory, dataFiles.directory],
  volumeDirectories: hostPathAllowlist,
  clock,
});
const client = kedgeClient({ server, token });

/** The containers and images of the node's engine. */
function engineParts(socketPath: string) {
  const engine = new EngineClient({ socketPath, clock });
  const records = new ImageRecords(join(directory, 'images'));
  const credentialsOf = () => undefined;
  const containers = new ContainerRuntime({
    engine,
    images: new Images({ images: engine.images, credentialsOf, records, clock }),
    cluster: remote.storeId,
    directory: join(directory, 'containers'),
    hostPortAddress: '127.0.0.1',
    ownDirectories: [directory, dataFiles.directory],
    clock,
    logger,
    policy,
  });
  const images = new NodeImages({
    node,
    images: engine.images,
    records,
    instances: () => Promise.resolve(manager.informer(instances).lister.list()),
    clock,
  });
  return { containers, images };
}
const engine = dockerSocket === undefined ? undefined : engineParts(dockerSocket);
const runtimes = [processes, ...(engine ? [engine.containers] : [])];
const resolver = parameterResolver(manager.informer(secrets).lister, sealer);
const volumeManager = new VolumeManager({
  ...common,
  drivers,
  resolver,
  mountRoot: join(directory, 'mounts'),
  journal,
  used: new UsedParameters({ directory: join(directory, 'mount-parameters'), sealer, logger }),
});
// Created before the start, so that their caches are filled; started once this process is the agent of the node.
const controllers = [volumeController, snapshotController].map((controllerOf) =>
  controllerOf({ ...common, drivers, resolver, part: 'node' }),
);
manager
  .addRunnable(
    new NodeRegistration({
      ...common,
      name: node,
      labels: {},
      address: '127.0.0.1',
      version: 'test',
      drivers: drivers.names,
      runtimes: () => availableNames(runtimes),
      life: held.life,
      callers: controllers,
      // Ends like a kill: the resources here belong to the other process.
      onReplaced: ({ message }) => {
        logger.error(message);
        process.exit(1);
      },
    }),
  )
  .addRunnable(new Agent({ ...common, runtimes, volumeManager, sealer, dataFiles }))
  .addRunnable(
    new AgentConnection({
      ...common,
      calls: client.api,
      agentId: held.life.id,
      runtimes,
      images: engine?.images,
    }),
  );
await thawLeftovers({ ...common, journal });
await manager.start();
for (const controller of controllers) manager.addController(controller);
await Promise.all(controllers.map((controller) => controller.start()));
logger.info('ready');
process.once('SIGTERM', () => {
  void manager
    .stop(20_000)
    .then(() => remote.close())
    .then(() => held.release())
    .then(() => process.exit(0));
});
