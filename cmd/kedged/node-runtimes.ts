import { join, resolve } from 'node:path';
import type { Clock, EmbeddedStore, Logger, Manager } from 'kedge';
import {
  ContainerRuntime,
  type DataFiles,
  EngineClient,
  ImageDisk,
  ImageRecords,
  Images,
  instances,
  NodeImages,
  type ParameterResolver,
  ProcessRuntime,
  registries,
  registryCredentials,
  type Runtime,
} from '@kedge/controllers';
import type { DaemonConfig } from './config/settings.js';
import { privatePaths } from './config/private-paths.js';

/** The runtimes of this node. */
export interface NodeRuntimes {
  readonly containers: ContainerRuntime;
  readonly all: readonly Runtime[];
  readonly images: NodeImages;
}

/** The dependencies of the runtimes. */
interface RuntimeParts {
  readonly dataFiles: DataFiles;
  readonly store: EmbeddedStore;
  readonly manager: Manager;
  readonly resolver: ParameterResolver;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Creates the configured runtimes, and adds what they do by themselves to the manager. */
export async function nodeRuntimes(
  config: DaemonConfig,
  { dataFiles, store, manager, resolver, clock, logger }: RuntimeParts,
): Promise<NodeRuntimes> {
  const { dataDirectory, policy } = config;
  const processes = new ProcessRuntime({
    directory: join(dataDirectory, 'instances'),
    hiddenDirectories: [
      dataDirectory,
      dataFiles.directory,
      resolve(config.localVolumeRoot),
      ...(await privatePaths(config)),
    ],
    volumeDirectories: config.hostPathAllowlist,
    clock,
    policy,
  });
  const engine = new EngineClient({ socketPath: config.dockerSocket, clock });
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
  return { containers, all: [processes, containers], images };
}
