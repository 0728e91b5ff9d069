import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, EmbeddedStore, Logger, Manager } from 'kedge';
import {
  type ChangeOwner,
  type ControllerPolicy,
  type ParameterResolver,
  type Sealer,
  UsedParameters,
  VolumeManager,
  VolumeUsage,
} from '@kedge/controllers';
import type { DriverRegistry, NodeHost, NodeJournal } from '@kedge/driver-sdk';
import type { DaemonConfig } from './config/settings.js';
import type { PrometheusMetrics } from './telemetry/prometheus-metrics.js';

interface VolumeParts {
  readonly store: EmbeddedStore;
  readonly manager: Manager;
  readonly drivers: DriverRegistry;
  readonly resolver: ParameterResolver;
  readonly journal: NodeJournal;
  readonly host: NodeHost;
  readonly changeOwner: ChangeOwner | undefined;
  readonly sealer: Sealer;
  readonly metrics: PrometheusMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
}

/**
 * The directory of the mounts of a daemon, without symbolic links: mounts are found by comparison with the mount table,
 * whose paths have none. A mount of an earlier release is found too, because the table has its path without links.
 * @param dataDirectory an existing directory
 * @throws Error of the file system if the path can't be resolved
 */
export async function mountRootIn(dataDirectory: string): Promise<string> {
  const root = join(dataDirectory, 'mounts');
  return realpath(root).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    // The first mount creates it.
    return join(await realpath(dataDirectory), 'mounts');
  });
}

/** Creates the volume manager of this node, and adds the measurement of its volumes to the manager and the metrics. */
export async function nodeVolumes(
  config: DaemonConfig,
  parts: VolumeParts,
): Promise<VolumeManager> {
  const { dataDirectory, nodeName: node } = config;
  const { manager, metrics, sealer } = parts;
  const logger = parts.logger.child({ part: 'agent' });
  const mountRoot = await mountRootIn(dataDirectory);
  const directory = join(dataDirectory, 'mount-parameters');
  const volumeManager = new VolumeManager({
    ...parts,
    node,
    mountRoot,
    used: new UsedParameters({ directory, sealer, logger }),
    logger,
  });
  const attached = () => volumeManager.heldHere();
  const usage = new VolumeUsage({ ...parts, node, mountRoot, attached, logger });
  metrics.append(() => usage.text());
  manager.addRunnable(usage);
  return volumeManager;
}
