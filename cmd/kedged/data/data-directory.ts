import {
  type EmbeddedStore,
  LevelEngine,
  limits,
  type Logger,
  messageOf,
  openStore,
  StatusError,
} from 'kedge';
import { makeDirectory } from '@kedge/driver-sdk';
import { type DaemonKeys, keyFileName, loadKeys } from '../config/key-file.js';
import type { DaemonConfig } from '../config/settings.js';

/** The keys and the open store of a data directory. */
export interface DaemonData {
  readonly keys: DaemonKeys;
  /** The open store, with its lock held. */
  readonly store: EmbeddedStore;
}

/** Opens the store of a data directory and takes its lock. @throws StatusError as {@link openStore} does */
export async function openDataDirectory(directory: string, logger: Logger): Promise<EmbeddedStore> {
  const engine = new LevelEngine({ directory, copiedBeforeMigration: [keyFileName] });
  const { reserveBytes } = limits;
  return openStore({ engine, reserveBytes, logger: logger.child({ part: 'store' }) });
}

/** Creates the data directory. @throws StatusError that names the directory and the setting */
export async function makeDataDirectory(directory: string): Promise<void> {
  try {
    await makeDirectory(directory, 0o700);
  } catch (error) {
    throw new StatusError({
      code: 'Unavailable',
      reason: 'DirectoryUnavailable',
      message: `data directory ${directory} can't be created (${messageOf(error)}); create it, or set a writable one with --data-directory or store.path`,
      cause: error,
    });
  }
}

/**
 * Opens the keys and the store of a daemon. Creates a missing directory, and a missing key of a new store.
 * @throws StatusError as {@link makeDataDirectory}, {@link loadKeys} and {@link openDataDirectory}
 */
export async function openDaemonData(
  { dataDirectory, kekFile }: DaemonConfig,
  logger: Logger,
): Promise<DaemonData> {
  await makeDataDirectory(dataDirectory);
  const keys = await loadKeys(dataDirectory, kekFile, process.env.KEDGE_KEK);
  return { keys, store: await openDataDirectory(dataDirectory, logger) };
}
