import { lstat, mkdir } from 'node:fs/promises';
import { failedPrecondition, type ObjectStore } from 'kedge';
import { bootstrap, isBootstrapped } from 'kedge/auth';
import { readContexts, writeContext } from '../kedge/context.js';

/** The one host directory that the examples name; private to its owner. */
export const sharedExampleDirectory = '/var/tmp/kedge';

/** What `npm start` sets instead of the defaults. */
export const localProfile: Readonly<Record<string, unknown>> = {
  'storage.hostPathAllowlist': [sharedExampleDirectory],
  'storage.allowCreateMissing': true,
};

/**
 * Makes the directory that the profile allows, mode 0700.
 * @throws StatusError FailedPrecondition when it belongs to somebody else or is a link.
 */
export async function prepareExampleDirectory(): Promise<void> {
  await mkdir(sharedExampleDirectory, { recursive: true, mode: 0o700 });
  const stat = await lstat(sharedExampleDirectory);
  const mine = stat.isDirectory() && stat.uid === (process.getuid?.() ?? stat.uid);
  if (!mine || (stat.mode & 0o022) !== 0)
    throw failedPrecondition(
      'NotPrivate',
      `${sharedExampleDirectory} is not a directory that only you can write to; remove it, or set KEDGE_STORAGE_HOST_PATH_ALLOWLIST to another one`,
    );
}

/** Result of {@link ensureLocalContext}. */
export type LocalAccess = 'created' | 'kept' | 'missing';

/** On the first run: bootstraps, and stores a CLI context for the local user. */
export async function ensureLocalContext(
  store: ObjectStore,
  server: string,
  restServer: string,
): Promise<LocalAccess> {
  if (await isBootstrapped(store)) {
    const { contexts } = await readContexts();
    const kept = Object.values(contexts).some((context) => context.server === server);
    return kept ? 'kept' : 'missing';
  }
  const token = await bootstrap(store);
  await writeContext('local', { server, restServer, token });
  return 'created';
}
