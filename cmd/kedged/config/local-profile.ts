import { lstat, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { failedPrecondition, type ObjectStore } from 'kedge';
import { shippedExamples } from '../../installation.js';

/** The host directory that the examples name, for whoever was first on this machine; private to its owner. */
export const sharedExampleDirectory = '/var/tmp/kedge';

/** What `npm start` sets instead of the defaults. */
export function localProfile(exampleDirectory: string): Readonly<Record<string, unknown>> {
  return {
    'storage.hostPathAllowlist': [exampleDirectory],
    'storage.allowCreateMissing': true,
  };
}

/** Whether a directory of the examples that is not there is made; a look at the configuration makes none. */
export type Missing = 'make' | 'leave';

/** Mode 0700 and the caller's, or made so. */
async function isOwn(
  directory: string,
  uid: number | undefined,
  missing: Missing,
): Promise<boolean> {
  if (missing === 'make') await makeOwn(directory);
  const stat = await lstat(directory).catch((error: NodeJS.ErrnoException) => {
    if (missing === 'leave' && error.code === 'ENOENT') return undefined;
    throw error;
  });
  // The start would make it.
  if (!stat) return true;
  return stat.isDirectory() && stat.uid === (uid ?? stat.uid) && (stat.mode & 0o022) === 0;
}

async function makeOwn(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    // A file, or a link to nothing: what it is decides.
    if (error.code !== 'EEXIST' && error.code !== 'ENOENT') throw error;
  });
}

/** The directory of one user where another one has that of the examples. */
export function ownExampleDirectory(
  shared = sharedExampleDirectory,
  uid = process.getuid?.(),
): string {
  return `${shared}-${uid ?? 'user'}`;
}

/**
 * The directory that the profile allows, made unless told otherwise: that of the examples, or where another
 * user of this machine has that one, `<it>-<uid>`.
 * @throws StatusError FailedPrecondition when neither is private to the caller.
 */
export async function prepareExampleDirectory(
  shared = sharedExampleDirectory,
  uid = process.getuid?.(),
  missing: Missing = 'make',
): Promise<string> {
  const own = ownExampleDirectory(shared, uid);
  for (const directory of [shared, own]) if (await isOwn(directory, uid, missing)) return directory;
  throw failedPrecondition(
    'NotPrivate',
    `${own} is not a directory that only you can write to; remove it, or set KEDGE_STORAGE_HOST_PATH_ALLOWLIST to another one`,
  );
}

/**
 * Writes copies of the examples below the data directory, which name the caller's own directory.
 * @returns the folder that they are in
 */
export async function prepareExamples(
  directory: string,
  dataDirectory: string,
  shipped = shippedExamples,
): Promise<string> {
  const examples = join(dataDirectory, 'examples');
  await mkdir(examples, { recursive: true, mode: 0o700 });
  for (const name of (await readdir(shipped)).filter((each) => each.endsWith('.yaml'))) {
    const text = await readFile(join(shipped, name), 'utf8');
    const own = text.replaceAll(`${sharedExampleDirectory}/`, `${directory}/`);
    await writeFile(join(examples, name), own, { mode: 0o600 });
  }
  return examples;
}

/** Whether the local user can call the daemon. */
export type LocalAccess = 'created' | 'kept' | 'missing';

/** On the first run: the root token, made before anybody can ask for it. */
export async function firstToken(store: ObjectStore): Promise<string | undefined> {
  const { bootstrap, isBootstrapped } = await import('kedge/auth');
  return (await isBootstrapped(store)) ? undefined : bootstrap(store);
}

/** Stores a CLI context for the local user when there is a new token. */
export async function ensureLocalContext(
  token: string | undefined,
  server: string,
  restServer: string,
): Promise<LocalAccess> {
  // With it comes a parser of YAML, which no other daemon needs.
  const { readContexts, writeContext } = await import('../../kedge/connection/context.js');
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
