import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { contextFolder } from '../../kedge/connection/context-file.js';
import type { DaemonConfig } from './settings.js';

/**
 * What gives power over the daemon and lies outside its data directory: its keys, and the tokens that its user keeps for
 * `kedge`. Workloads run as that user, so nothing else keeps them from reading it.
 */
export async function privatePaths({
  kekFile,
  tlsKeyFile,
}: Pick<DaemonConfig, 'kekFile' | 'tlsKeyFile'>): Promise<readonly string[]> {
  const tokens = resolve(contextFolder());
  // One that is made later would not be covered in a workload that runs by then. Where it can't be made, `kedge` of this
  // user stores nothing either.
  await mkdir(tokens, { recursive: true, mode: 0o700 }).catch(() => undefined);
  const files = [kekFile, tlsKeyFile].filter((file) => file !== '');
  return [tokens, ...files.map((file) => resolve(file))];
}
