import { join, resolve } from 'node:path';
import type { Clock, Logger } from 'kedge';
import {
  ContainerRuntime,
  type DataFiles,
  EngineClient,
  ProcessRuntime,
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
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Creates the configured runtimes. */
export async function nodeRuntimes(
  config: DaemonConfig,
  { dataFiles, cluster, clock, logger }: RuntimeParts,
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
  const containers = new ContainerRuntime({
    engine: new EngineClient({ socketPath: config.dockerSocket, clock }),
    cluster,
    directory: join(dataDirectory, 'containers'),
    clock,
    logger: logger.child({ part: 'containers' }),
    policy,
  });
  return { containers, all: [processes, containers] };
}
