import { resolve } from 'node:path';
import type { DeniedPath } from '@kedge/driver-sdk';
import { privatePaths } from './private-paths.js';
import type { DaemonConfig } from './settings.js';

/** Denies the data directory of the container engine once the engine has reported it. */
export function denyEngineDirectory(denied: DeniedPath[]): (path: string) => void {
  return (path) => {
    const name = 'the data directory of the container engine (its DockerRootDir)';
    if (!denied.some((each) => each.path === resolve(path)))
      denied.push({ path: resolve(path), name });
  };
}

/**
 * The paths that no directory of driver local-host may be, contain or lie in: with them a workload would control the
 * node or this daemon.
 * @param dataFiles directory of the files of mounted secrets and configmaps
 */
export async function deniedHostPaths(
  config: DaemonConfig,
  dataFiles: string,
): Promise<readonly DeniedPath[]> {
  const named: readonly DeniedPath[] = [
    {
      path: config.dockerSocket,
      name: 'the socket of the container engine (runtime.dockerSocket)',
    },
    { path: config.dataDirectory, name: 'the data directory of kedged (store.path)' },
    {
      path: config.localVolumeRoot,
      name: 'the directory of volumes of driver local (storage.localVolumeRoot)',
    },
    { path: dataFiles, name: 'the directory of mounted secrets' },
    { path: config.configFile ?? '', name: 'the configuration of kedged' },
    { path: config.auditFile, name: 'the audit log of kedged (log.auditFile)' },
    {
      path: config.tlsClientCaFile,
      name: 'the authorities of client certificates (server.tls.clientCaFile)',
    },
  ];
  const keys = (await privatePaths(config)).map((path) => ({
    path,
    name: 'a directory or file with keys of kedged',
  }));
  return [...named, ...keys]
    .filter(({ path }) => path !== '')
    .map(({ path, name }) => ({ path: resolve(path), name }));
}
