import { mkdir, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  type Capabilities,
  type DeleteRequest,
  type Driver,
  DriverError,
  type StorageSettings,
  validateByRules,
  type VolumeIdentity,
} from '@kedge/driver-sdk';

const capabilities: Capabilities = {
  accessModes: ['ReadWriteOnce'],
  snapshots: true,
  clone: false,
  expand: true,
  onlineExpand: true,
  blockDevice: false,
  topologyKeys: [],
  sensitiveParameters: [],
  ownsData: true,
};

/** A volume's directory is named by its uid, so no two volumes ever share one. */
const directoryName = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw new DriverError('Unavailable', `can't look at ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function attempt<T>(what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof DriverError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    const kind =
      code === 'ENOSPC' || code === 'EDQUOT'
        ? 'QuotaExceeded'
        : code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
          ? 'PermissionDenied'
          : 'Unavailable';
    throw new DriverError(kind, `can't ${what}: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * `local`: a directory per volume under [storage].localVolumeRoot (specification section 2.5).
 * Sizes are informational. Deletion renames first, so that a half-deleted volume is never mounted,
 * and can't leave the root whatever the handle says.
 */
export function createLocalDriver(settings: StorageSettings): Driver {
  const root = async (): Promise<string> => {
    await mkdir(settings.localVolumeRoot, { recursive: true, mode: 0o700 });
    return realpath(settings.localVolumeRoot);
  };
  const pathOf = async (volume: VolumeIdentity): Promise<string> => {
    if (!directoryName.test(volume.uid))
      throw new DriverError('InvalidParameters', `volume uid ${volume.uid} is not a UUID`);
    return join(await root(), volume.uid);
  };
  const owned = async (request: DeleteRequest): Promise<string> => {
    const path = await pathOf(request.volume);
    const { handle } = request;
    if (handle === undefined || handle === path) return path;
    // The root may have been moved since; the name is what belongs to us.
    if (basename(handle) === request.volume.uid) return path;
    throw new DriverError(
      'InvalidParameters',
      `handle ${handle} is not a directory of this volume under ${dirname(path)}`,
    );
  };
  return {
    name: 'local',
    capabilities: () => capabilities,
    validateParameters: (parameters, context) => validateByRules([], parameters, context),
    provision: (request) =>
      attempt('make the volume directory', async () => {
        const path = await pathOf(request.volume);
        await mkdir(path, { recursive: true, mode: 0o755 });
        await syncDirectory(dirname(path));
        return { handle: path, sizeBytes: request.sizeBytes };
      }),
    observe: (request) =>
      attempt('look at the volume directory', async () => {
        const path = await owned(request);
        if (!(await exists(path))) throw new DriverError('NotFound', `${path} does not exist`);
        return { handle: path, sizeBytes: undefined };
      }),
    delete: (request) =>
      attempt('delete the volume directory', async () => {
        const path = await owned(request);
        const doomed = join(dirname(path), `.deleting-${request.volume.uid}`);
        if (await exists(path)) {
          await rename(path, doomed);
          await syncDirectory(dirname(path));
        }
        await rm(doomed, { recursive: true, force: true });
      }),
    attach: async (request) => {
      const path = await owned(request);
      if (!(await exists(path)))
        throw new DriverError('NotFound', `the volume's directory ${path} is gone`);
      return { devicePath: '' };
    },
    detach: () => Promise.resolve(),
    mount: async (request) => ({ path: await owned(request) }),
    unmount: () => Promise.resolve(),
    expand: (request) => Promise.resolve(request.sizeBytes),
  };
}
