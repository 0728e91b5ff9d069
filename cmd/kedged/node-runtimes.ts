import { join, resolve } from 'node:path';
import type { Clock, EmbeddedStore, Logger, Manager, Random } from 'kedge';
import {
  type ChangeOwner,
  changeOwnerInContainer,
  ContainerRuntime,
  type DataFiles,
  EngineClient,
  ImageDisk,
  ImageRecords,
  Images,
  instances,
  NodeImages,
  OneOffContainers,
  type ParameterResolver,
  ProcessRuntime,
  registries,
  registryCredentials,
  removeAlsoForeign,
  type Runtime,
} from '@kedge/controllers';
import { joinHolders, type NodeHost, thisNode } from '@kedge/driver-sdk';
import type { DaemonConfig } from './config/settings.js';
import { privatePaths } from './config/private-paths.js';

/**
 * The usual data directories of the engine, which have the variables, the output and the files of all containers. They
 * are hidden from processes also while the engine does not report its directory.
 */
const engineDirectories = ['/var/lib/docker', '/var/lib/containerd'];
/** Time in which the engine reports its data directory at the start of kedged. */
const engineAnswerMs = 2_000;
/** Deadline of the removal of a directory in a container. */
const removalMs = 600_000;

/** The runtimes of this node. */
export interface NodeRuntimes {
  readonly all: readonly Runtime[];
  readonly images: NodeImages;
  /**
   * The host of this node. If kedged does not run as root, a container removes directories with files of other users.
   */
  readonly host: NodeHost;
  /** Changes owners of files through a container; undefined if this process may do so itself. */
  readonly changeOwner: ChangeOwner | undefined;
}

interface RuntimeParts {
  readonly dataFiles: DataFiles;
  readonly store: EmbeddedStore;
  readonly manager: Manager;
  readonly resolver: ParameterResolver;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called with the data directory of the engine whenever the engine reports it. */
  readonly onEngineDirectory: (path: string) => void;
}

/**
 * Asks the engine for its data directory before volumes are mounted. An engine that does not answer is asked again by
 * the watch of its events and of its disk.
 */
async function askForDirectory(engine: EngineClient, clock: Clock): Promise<void> {
  const limit = new AbortController();
  const timer = clock.setTimer(() => limit.abort(), engineAnswerMs);
  await engine.rootDirectory(limit.signal).catch(() => undefined);
  timer.cancel();
}

/** Creates the configured runtimes, and adds their background work to the manager. */
export async function nodeRuntimes(
  config: DaemonConfig,
  { dataFiles, store, manager, resolver, clock, random, logger, onEngineDirectory }: RuntimeParts,
): Promise<NodeRuntimes> {
  const { dataDirectory, policy } = config;
  const hiddenDirectories = [
    dataDirectory,
    dataFiles.directory,
    resolve(config.localVolumeRoot),
    ...(await privatePaths(config)),
    ...engineDirectories,
  ];
  const processes = new ProcessRuntime({
    directory: join(dataDirectory, 'instances'),
    hiddenDirectories,
    volumeDirectories: config.hostPathAllowlist,
    cgroups: { cluster: store.clusterId },
    clock,
    policy,
  });
  const onRootDirectory = (path: string): void => {
    if (!hiddenDirectories.includes(path)) hiddenDirectories.push(path);
    onEngineDirectory(path);
  };
  const engine = new EngineClient({ socketPath: config.dockerSocket, clock, onRootDirectory });
  await askForDirectory(engine, clock);
  const records = new ImageRecords(join(dataDirectory, 'images'));
  const credentialsOf = registryCredentials({
    registries: manager.informer(registries).lister,
    resolver,
  });
  const containers = new ContainerRuntime({
    engine,
    images: new Images({ images: engine.images, credentialsOf, records, clock }),
    cluster: store.clusterId,
    directory: join(dataDirectory, 'containers'),
    hostPortAddress: config.hostPortAddress,
    ownDirectories: [dataDirectory, dataFiles.directory, resolve(config.localVolumeRoot)],
    clock,
    logger: logger.child({ part: 'containers' }),
    policy,
  });
  const node = config.nodeName;
  const images = new NodeImages({
    node,
    images: engine.images,
    records,
    instances: async () => (await store.list(instances)).items.filter((each) => each.node === node),
    clock,
  });
  const disk = new ImageDisk({
    store,
    images,
    directory: (signal) => engine.rootDirectory(signal),
    highPercent: config.imageDiskHighPercent,
    clock,
    logger: logger.child({ part: 'images' }),
    policy,
  });
  manager.addRunnable(disk);
  const once = new OneOffContainers({
    engine,
    cluster: store.clusterId,
    ...{ node, clock },
    uuid: () => random.uuid(),
  });
  const uid = process.getuid?.() ?? 0;
  const remove = async (path: string): Promise<void> => {
    const limit = new AbortController();
    const timer = clock.setTimer(() => limit.abort(), removalMs);
    try {
      await removeAlsoForeign(path, uid, once, limit.signal);
    } finally {
      timer.cancel();
    }
  };
  return {
    all: [processes, containers],
    images,
    host: {
      ...thisNode,
      // Containers first: their remedy is the better one.
      holders: joinHolders(containers, thisNode.holders),
      files: uid === 0 ? thisNode.files : { ...thisNode.files, remove },
    },
    changeOwner: uid === 0 ? undefined : changeOwnerInContainer(once),
  };
}
