import { mkdir, realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { contextFolder } from '../../kedge/connection/context-file.js';
import type { DaemonConfig } from './settings.js';

/** Workloads have a /run of their own. */
const emptyInSandbox = /^(\/var)?\/run\//;

/**
 * Returns the private paths outside the data directory: keys, the folder of the CLI's tokens of the daemon's user,
 * which is created, and the socket of the container engine. Workloads run as that user, so these paths must be hidden
 * from them.
 */
export async function privatePaths({
  kekFile,
  tlsKeyFile,
  dockerSocket,
}: Pick<DaemonConfig, 'kekFile' | 'tlsKeyFile' | 'dockerSocket'>): Promise<readonly string[]> {
  const tokens = resolve(contextFolder());
  // Created now: a directory that is created later would be visible in running workloads. A failure is ignored,
  // because kedge can't store tokens there either.
  await mkdir(tokens, { recursive: true, mode: 0o700 }).catch(() => undefined);
  // A link in /run may lead to a socket elsewhere.
  const target = await realpath(dockerSocket).catch(() => dockerSocket);
  const sockets = [dockerSocket, target].filter((path) => !emptyInSandbox.test(path));
  const files = new Set([kekFile, tlsKeyFile, ...sockets].filter((file) => file !== ''));
  return [tokens, ...Array.from(files, (file) => resolve(file))];
}
