import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, normalize } from 'node:path';
import {
  type DeniedPath,
  DriverError,
  makeDirectory,
  type StorageSettings,
} from '@kedge/driver-sdk';
import { deniedProblem, deniedRealProblem } from './denied-path.js';
import { isWithin } from './within.js';
import { hostPathMissing, hostPathRefused } from '@kedge/driver-sdk/messages';

/** The violation of a host path by its text (specification rule 6); undefined if it is valid. */
export function hostPathProblem(
  path: string,
  allowlist: readonly string[],
  denylist: readonly DeniedPath[] = [],
): string | undefined {
  if (!path.startsWith('/')) return `${JSON.stringify(path)} must be an absolute path`;
  if (path.includes('\0')) return 'must not contain a NUL character';
  if (path.split('/').includes('..'))
    return `${JSON.stringify(path)} must not contain a .. segment`;
  if (allowlist.some((entry) => isWithin(normalize(path), normalize(entry))))
    return deniedProblem(path, denylist);
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

/** The real path of a path; of a missing path, the real path that it will have once it is created. */
async function prospectiveRealPath(path: string): Promise<string> {
  const real = await realOrMissing(path);
  if (real !== undefined) return real;
  return join(await prospectiveRealPath(dirname(path)), basename(path));
}

/**
 * Returns the real path of a host directory, which must be under the real paths of the allow-list and away from denied
 * paths. Creates a missing directory if `create` is set, but not if its path leads through a link out of the list.
 * @throws DriverError InvalidParameters; Unavailable if the path can't be resolved or created
 */
export async function resolveHostPath(
  path: string,
  settings: StorageSettings,
  create: boolean,
): Promise<string> {
  const { hostPathAllowlist, hostPathDenylist = [] } = settings;
  const problem = hostPathProblem(path, hostPathAllowlist, hostPathDenylist);
  const label = hostPathRefused.format({ path });
  if (problem !== undefined)
    throw new DriverError('InvalidParameters', `${label} is refused: ${problem}`);
  const allowed = await Promise.all(hostPathAllowlist.map(prospectiveRealPath));
  const requireAllowed = async (real: string): Promise<void> => {
    if (!allowed.some((entry) => isWithin(real, entry)))
      throw new DriverError(
        'InvalidParameters',
        `${label} resolves to ${real}, which is not under [storage].hostPathAllowlist`,
      );
    const denied = await deniedRealProblem(real, hostPathDenylist);
    if (denied === undefined) return;
    const how = real === normalize(path) ? 'is refused:' : 'resolves to';
    throw new DriverError('InvalidParameters', `${label} ${how} ${denied}`);
  };
  const real = await realOrMissing(path);
  if (real !== undefined) {
    await requireAllowed(real);
    if (!(await stat(real)).isDirectory())
      throw new DriverError(
        'InvalidParameters',
        `${label} is not a directory; name a directory, such as ${dirname(path)}`,
      );
    return real;
  }
  if (!create)
    throw new DriverError(
      'InvalidParameters',
      `${hostPathMissing.format({ path })}; create it, or set createIfMissing: "true" where [storage].allowCreateMissing permits it`,
    );
  await requireAllowed(await prospectiveRealPath(normalize(path)));
  await makeDirectory(path, 0o755).catch((cause: Error) => {
    throw new DriverError('Unavailable', `can't create ${path}: ${cause.message}`, { cause });
  });
  const made = await realpath(path);
  await requireAllowed(made);
  return made;
}
