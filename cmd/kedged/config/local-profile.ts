import { lstat, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { failedPrecondition } from 'kedge';
import { shippedExamples } from '../../installation.js';

/** The shared directory of the examples: it belongs to the user who started a local daemon first on this machine. */
export const sharedExampleDirectory = '/var/tmp/kedge';

/** The settings of `npm start` that differ from the defaults. */
export function localProfile(exampleDirectory: string): Readonly<Record<string, unknown>> {
  return {
    'storage.hostPathAllowlist': [exampleDirectory],
    'storage.allowCreateMissing': true,
  };
}

/** Whether to create a missing directory of the examples; printing the configuration does not. */
export type Missing = 'make' | 'leave';

/**
 * Whether the directory exists and only the caller can write to it. A missing directory is created, or counts as the
 * caller's own if `missing` is `leave`.
 */
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
  // A start without `leave` would create the directory as the caller's own.
  if (!stat) return true;
  return stat.isDirectory() && stat.uid === (uid ?? stat.uid) && (stat.mode & 0o022) === 0;
}

async function makeOwn(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    // The path is a file or a dangling link: the caller checks its type.
    if (error.code !== 'EEXIST' && error.code !== 'ENOENT') throw error;
  });
}

/** The path of the caller's own directory of examples, in place of the shared one of another user. */
export function ownExampleDirectory(
  shared = sharedExampleDirectory,
  uid = process.getuid?.(),
): string {
  return `${shared}-${uid ?? 'user'}`;
}

/**
 * Returns the directory that the profile allows: the shared directory of the examples, or the caller's own one if the
 * shared one is not a directory of the caller to which only the caller can write. By default a missing directory is
 * created.
 * @throws StatusError FailedPrecondition if this holds for neither
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
 * Writes copies of the examples to the data directory. In the copies, paths are in `directory`.
 * @returns the folder of the copies
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
