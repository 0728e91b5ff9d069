import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { contextFolder } from '../../kedge/connection/context-file.js';
import type { DaemonConfig } from './settings.js';

/**
 * Returns the private paths outside the data directory: keys, and the folder of the CLI's tokens of the daemon's user,
 * which is created. Workloads run as that user, so these paths must be hidden from them.
 */
export async function privatePaths({
  kekFile,
  tlsKeyFile,
}: Pick<DaemonConfig, 'kekFile' | 'tlsKeyFile'>): Promise<readonly string[]> {
  const tokens = resolve(contextFolder());
  // Created now: a directory that is created later would be visible in running workloads. A failure is ignored,
  // because kedge can't store tokens there either.
  await mkdir(tokens, { recursive: true, mode: 0o700 }).catch(() => undefined);
  const files = [kekFile, tlsKeyFile].filter((file) => file !== '');
  return [tokens, ...files.map((file) => resolve(file))];
}
