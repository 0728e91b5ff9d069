import { join, resolve } from 'node:path';
import type { Clock, Logger, Manager } from 'kedge';
import {
  ContainerRuntime,
  type DataFiles,
  EngineClient,
  ImageRecords,
  Images,
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
}

/** The dependencies of the runtimes. */
interface RuntimeParts {
  readonly dataFiles: DataFiles;
  /** Id of the cluster. */
  readonly cluster: string;
  readonly manager: Manager;
  readonly resolver: ParameterResolver;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Creates the configured runtimes. */
export async function nodeRuntimes(
  config: DaemonConfig,
  { dataFiles, cluster, manager, resolver, clock, logger }: RuntimeParts,
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
    cluster,
    directory: join(dataDirectory, 'containers'),
    clock,
    logger: logger.child({ part: 'containers' }),
    policy,
  });
  return { containers, all: [processes, containers] };
}
