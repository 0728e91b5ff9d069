import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rmdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  DriverError,
  makeDirectory,
  mountOn,
  type NodeHost,
  onNode,
  requireCommand,
  unmountTarget,
} from '@kedge/driver-sdk';
import { hostPathRefused } from '@kedge/driver-sdk/messages';
import { subPathRefused } from '../../messages/inputs.js';

const directoryOnly = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** A bind mount of a directory of a volume. */
export interface BindRequest {
  /** The path of the volume's content. */
  readonly root: string;
  /**
   * Directory inside the root. It is created if missing, unless the mount is read-only. Empty for the entire volume.
   */
  readonly subPath: string;
  /** Whether the root is a directory of the host, so that others may write to the directories above it. */
  readonly isOfHost: boolean;
  readonly target: string;
  readonly readOnly: boolean;
  readonly signal: AbortSignal;
}

function leadsOut(subPath: string, part: string, cause: unknown): DriverError {
  return new DriverError(
    'InvalidParameters',
    `${subPathRefused.format({ subPath })}: "${part}" is a symbolic link or not a directory; a subPath consists of directories of the volume`,
    { cause },
  );
}

function missing(subPath: string, part: string, cause: unknown): DriverError {
  return new DriverError(
    'InvalidParameters',
    `${subPathRefused.format({ subPath })}: "${part}" does not exist in the volume, and is not created for a read-only mount`,
    { cause },
  );
}

/** Opens the root of a volume. No component of the path of a directory of the host may be a link. */
async function openRoot(root: string, isOfHost: boolean): Promise<FileHandle> {
  if (!isOfHost) return open(root, directoryOnly);
  return openInside('/', root, { make: false }).catch((cause: unknown) => {
    if (!(cause instanceof DriverError)) throw cause;
    throw new DriverError(
      'InvalidParameters',
      `${hostPathRefused.format({ path: root })} was removed, or a directory of the path was replaced by a symbolic link; put the directory back on the node`,
      { cause },
    );
  });
}

/**
 * Opens a directory below another, one component at a time, and creates missing ones if `make` is true. Each component
 * is opened through the handle of its parent and never through a symbolic link, so that a concurrent swap is not
 * followed (CVE-2017-1002101, CVE-2021-25741).
 * @throws DriverError InvalidParameters for a component that is `..`, a symbolic link, not a directory or missing; other
 * errors of the file system unchanged
 */
export async function openInside(
  root: string,
  subPath: string,
  { make = true, isOfHost = false }: { readonly make?: boolean; readonly isOfHost?: boolean } = {},
): Promise<FileHandle> {
  let at = await openRoot(root, isOfHost);
  try {
    for (const part of subPath.split('/').filter((p) => p !== '' && p !== '.')) {
      if (part === '..') throw leadsOut(subPath, part, undefined);
      const path = `/proc/self/fd/${at.fd}/${part}`;
      if (make)
        await mkdir(path, { mode: 0o755 }).catch((error: NodeJS.ErrnoException) => {
          // A read-only file system fails with EROFS even if the directory exists.
          if (error.code !== 'EEXIST' && error.code !== 'EROFS') throw error;
        });
      const next = await open(path, directoryOnly).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ELOOP' || error.code === 'ENOTDIR')
          throw leadsOut(subPath, part, error);
        if (error.code === 'ENOENT') throw missing(subPath, part, error);
        throw error;
      });
      await at.close();
      at = next;
    }
    return at;
  } catch (error) {
    await at.close();
    throw error;
  }
}

async function isSame(handle: FileHandle, path: string): Promise<boolean> {
  const there = await stat(path).catch((error: NodeJS.ErrnoException) => {
    // A file system whose device is gone.
    if (error.code === 'EIO') return undefined;
    throw error;
  });
  const { dev, ino } = await handle.stat();
  return there?.dev === dev && there.ino === ino;
}

/**
 * Binds a directory of a volume to `target`, read-only if requested, with the mounts below a whole directory of the
 * host. Idempotent. @throws DriverError
 */
export function bindDirectory(host: NodeHost, request: BindRequest): Promise<void> {
  return onNode(`bind a volume to ${request.target}`, () => bind(host, request));
}

async function bind(host: NodeHost, request: BindRequest): Promise<void> {
  const { target, readOnly, signal, isOfHost, subPath } = request;
  const handle = await openInside(request.root, subPath, { make: !readOnly, isOfHost });
  try {
    const there = await mountOn(host, target);
    if (there?.readOnly === readOnly && (await isSame(handle, target))) return;
    if (there) await unbindDirectory(host, target, signal);
    await makeDirectory(target, 0o755);
    try {
      // Mounts the handle, not its path, which mount would resolve again.
      const source = `/proc/${process.pid}/fd/${handle.fd}`;
      const bind = isOfHost && subPath === '' ? '--rbind' : '--bind';
      await requireCommand(host.run, 'mount', [bind, '--no-canonicalize', source, target], signal);
      // Later mounts of the host appear below it, and an unmount there is not one on the host.
      await requireCommand(host.run, 'mount', ['--make-rslave', target], signal);
      if (!(await isSame(handle, target)))
        throw new DriverError(
          'Internal',
          `${target} is a mount of another directory than the opened one`,
        );
      if (readOnly)
        await requireCommand(host.run, 'mount', ['-o', 'remount,bind,ro', target], signal);
    } catch (error) {
      await unbindDirectory(host, target, signal).catch(() => rmdir(target).catch(() => undefined));
      throw error;
    }
  } finally {
    await handle.close();
  }
}

/**
 * Unmounts what {@link bindDirectory} mounted, with the mounts of the host that appeared below it; their directories
 * belong to the volume and are not removed. @throws DriverError InUse that names the holder
 */
export function unbindDirectory(
  host: NodeHost,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  return onNode(`unmount ${target}`, async () => {
    const below = (await host.mounts()).filter((entry) => entry.target.startsWith(`${target}/`));
    // Lazily: the host still has these mounts, and their holders belong to it.
    for (const entry of below.reverse())
      await requireCommand(host.run, 'umount', ['--lazy', entry.target], signal);
    await unmountTarget(target, signal, host);
  });
}

/** Whether the file system at a path was shut down after an error of its device, as xfs is: it can't even be read. */
export function isShutDown({ files }: NodeHost, path: string): Promise<boolean> {
  return files.kindAt(path).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'EIO',
  );
}

/**
 * Unmounts the binds `<claim>/<mount>` below a folder that were shut down. While one is left, a new mount of the device
 * is the same file system, which stays shut down. @throws DriverError InUse that names the holder
 */
export async function unbindShutDown(
  host: NodeHost,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const mounts = await onNode('read the mounts', () => host.mounts());
  const binds = mounts.filter(({ target }) => dirname(dirname(target)) === folder);
  for (const { target } of binds.reverse())
    if (await isShutDown(host, target)) await unbindDirectory(host, target, signal);
}
