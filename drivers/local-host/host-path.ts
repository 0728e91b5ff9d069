import { mkdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { DriverError, type StorageSettings } from '@kedge/driver-sdk';

/** Whether `path` is `directory` or below it, on component boundaries: /data contains /data/x, not /database. */
export function isWithin(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way === '' || (way !== '..' && !way.startsWith('../'));
}

/** The violation of a host path by its text (specification rule 6); undefined if it is valid. */
export function hostPathProblem(path: string, allowlist: readonly string[]): string | undefined {
  if (!path.startsWith('/')) return `${JSON.stringify(path)} must be an absolute path`;
  if (path.includes('\0')) return 'must not contain a NUL character';
  if (path.split('/').includes('..'))
    return `${JSON.stringify(path)} must not contain a .. segment`;
  if (allowlist.some((entry) => isWithin(normalize(path), normalize(entry)))) return undefined;
  const allowed = allowlist.length === 0 ? 'it is empty' : `it allows ${allowlist.join(', ')}`;
  return `${JSON.stringify(path)} is not under [storage].hostPathAllowlist; ${allowed}`;
}

async function realOrMissing(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new DriverError('Unavailable', `can't resolve ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** The real path of a path; of a missing one, its real path after creation. */
async function prospectiveRealPath(path: string): Promise<string> {
  const real = await realOrMissing(path);
  if (real !== undefined) return real;
  return join(await prospectiveRealPath(dirname(path)), basename(path));
}

/**
 * The real path of a host directory, which must be under the real paths of the allow-list. Creates a missing
 * directory if `create` is set, never through a link that leaves the list.
 */
export async function resolveHostPath(
  path: string,
  settings: StorageSettings,
  create: boolean,
): Promise<string> {
  const problem = hostPathProblem(path, settings.hostPathAllowlist);
  if (problem !== undefined) throw new DriverError('InvalidParameters', `hostPath ${problem}`);
  const allowed = await Promise.all(settings.hostPathAllowlist.map(prospectiveRealPath));
  const demandWithin = (real: string): void => {
    if (allowed.some((entry) => isWithin(real, entry))) return;
    throw new DriverError(
      'InvalidParameters',
      `hostPath ${path} resolves to ${real}, which is not under [storage].hostPathAllowlist`,
    );
  };
  const real = await realOrMissing(path);
  if (real !== undefined) {
    demandWithin(real);
    return real;
  }
  if (!create)
    throw new DriverError(
      'InvalidParameters',
      `hostPath ${path} does not exist; create it, or set createIfMissing: "true" where [storage].allowCreateMissing permits it`,
    );
  demandWithin(await prospectiveRealPath(normalize(path)));
  await mkdir(path, { recursive: true, mode: 0o755 });
  const made = await realpath(path);
  demandWithin(made);
  return made;
}
