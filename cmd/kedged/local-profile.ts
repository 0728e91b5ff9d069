import { lstat, mkdir } from 'node:fs/promises';
import { failedPrecondition, type ObjectStore } from 'kedge';
import { bootstrap, isBootstrapped } from 'kedge/auth';

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

/** Whether the local user can call the daemon. */
export type LocalAccess = 'created' | 'kept' | 'missing';

/** On the first run: the root token, made before anybody can ask for it. */
export async function firstToken(store: ObjectStore): Promise<string | undefined> {
  return (await isBootstrapped(store)) ? undefined : bootstrap(store);
}

/** Stores a CLI context for the local user when there is a new token. */
export async function ensureLocalContext(
  token: string | undefined,
  server: string,
  restServer: string,
): Promise<LocalAccess> {
  // With it comes a parser of YAML, which no other daemon needs.
  const { readContexts, writeContext } = await import('../kedge/context.js');
  if (token !== undefined) {
    await writeContext('local', { server, restServer, token });
    return 'created';
  }
  const { contexts } = await readContexts();
  const known = contexts.local;
  if (!known) return 'missing';
  // The port may be another one this time.
  if (known.server !== server) await writeContext('local', { ...known, server, restServer });
  return 'kept';
}
