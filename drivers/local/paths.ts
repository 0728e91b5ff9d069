import { basename, dirname, join } from 'node:path';
import {
  DriverError,
  type HostFiles,
  isDiskFull,
  type NodeHost,
  type VolumeIdentity,
} from '@kedge/driver-sdk';

/** Volumes and snapshots are named by their uids: these are unique, and contain no path separators. */
const uidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The possible paths of one volume or snapshot: a directory, or an image file. */
export interface Place {
  readonly uid: string;
  /** Folder of both. */
  readonly folder: string;
  readonly directory: string;
  readonly image: string;
}

/** The places of a driver's root: `<uid>` and `<uid>.img` for volumes, the same below `snapshots`. */
export class LocalPaths {
  readonly #root: string;
  readonly #files: HostFiles;

  /** @param root real path of an existing directory */
  constructor(root: string, files: HostFiles) {
    this.#root = root;
    this.#files = files;
  }

  /** An imported volume keeps the uid of the object that it was created for. */
  volume({ uid, importedAs }: VolumeIdentity): Place {
    return this.#place(importedAs ?? uid, this.#root);
  }

  async snapshot(uid: string): Promise<Place> {
    const folder = join(this.#root, 'snapshots');
    // Without parents: a missing root is not recreated.
    await this.#files.makeFolder(folder, { mode: 0o700 });
    return this.#place(uid, folder);
  }

  #place(uid: string, folder: string): Place {
    if (!uidForm.test(uid))
      throw new DriverError('InvalidParameters', `uid ${JSON.stringify(uid)} is not a UUID`);
    return { uid, folder, directory: join(folder, uid), image: join(folder, `${uid}.img`) };
  }
}

/** Checks that a handle is that of a place. @throws DriverError InvalidParameters if it is not */
export function requireOwn(place: Place, handle: string | undefined): void {
  // The root may have been moved since: compare only the name.
  const own = [basename(place.directory), basename(place.image)];
  if (handle === undefined || own.includes(basename(handle))) return;
  throw new DriverError(
    'InvalidParameters',
    `handle ${handle} does not belong to volume ${place.uid} below ${place.folder}`,
  );
}

/**
 * Creates something under a temporary name and renames it when complete: `target` is complete or absent, also after
 * a crash. Keeps an existing one.
 */
export function makeWhole(
  { turns, files }: NodeHost,
  target: string,
  make: (draft: string) => Promise<void>,
): Promise<void> {
  return turns.run(`make ${target}`, () => makeOnce(files, target, make));
}

async function makeOnce(
  files: HostFiles,
  target: string,
  make: (draft: string) => Promise<void>,
): Promise<void> {
  if ((await files.kindAt(target)) !== 'absent') return;
  const draft = join(dirname(target), `.making-${basename(target)}`);
  await files.remove(draft);
  try {
    await make(draft);
    await files.rename(draft, target);
    await files.syncFolder(dirname(target));
  } catch (error) {
    await files.remove(draft);
    throw error;
  }
}

/**
 * Removes the directory and the image of a place, and what earlier attempts left of them. They are renamed first, so
 * that a partially deleted volume is never mounted or copied.
 */
export async function removeWhole({ files }: NodeHost, place: Place): Promise<void> {
  const { folder, uid } = place;
  for (const path of [place.directory, place.image]) {
    if ((await files.kindAt(path)) === 'absent') continue;
    await files.rename(path, join(folder, `.deleting-${basename(path)}`));
    await files.syncFolder(folder);
  }
  const remains = (await files.list(folder)).filter((name) =>
    [`.deleting-${uid}`, `.deleting-${uid}.img`, `.making-${uid}`, `.making-${uid}.img`].includes(
      name,
    ),
  );
  for (const name of remains) await files.remove(join(folder, name));
}

/** Runs a driver call; file system errors are converted to driver errors. @throws DriverError */
export async function attempt<T>(what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof DriverError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    const kind = isDiskFull(error)
      ? 'QuotaExceeded'
      : code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
        ? 'PermissionDenied'
        : 'Unavailable';
    throw new DriverError(kind, `can't ${what}: ${(error as Error).message}`, { cause: error });
  }
}
