import { basename, dirname, join } from 'node:path';
import { DriverError } from '../errors/errors.js';
import { onNode } from '../errors/on-node.js';
import { shownName } from '../errors/shown-name.js';
import { describeHolders } from '../node/holders.js';
import type { MountEntry } from '../node/mount-table.js';
import { hasDevice, isAbsence, mountOn, type NodeHost } from '../node/node-host.js';
import { thisNode } from '../node/this-node.js';
import { requireReleased } from './released-device.js';

/**
 * The target as the mount table names it: links in its parents are resolved.
 * @throws DriverError InvalidParameters if the target itself is a link: the volume would appear elsewhere.
 */
export async function realTarget(host: NodeHost, target: string): Promise<string> {
  const { files } = host;
  const parent = (await files.realPath(dirname(target))) ?? dirname(target);
  const real = join(parent, basename(target));
  // The root of an xfs that was shut down after an error of its device can't be read. It is a mount, and thus not a link.
  const kind = await files.kindAt(real).catch(async (error: unknown) => {
    if (await mountOn(host, real)) return 'directory';
    throw error;
  });
  if (kind === 'link')
    throw new DriverError(
      'InvalidParameters',
      `target ${target} is a symbolic link, which is not followed; remove it`,
    );
  return real;
}

/**
 * Unmounts `target` and removes the directory; succeeds if it is not mounted. With `device`, only that device is
 * unmounted, and the directory is removed once no mount namespace has the mount, because its removal would unmount it
 * there too.
 * @throws DriverError; InUse names the holder or the other mount.
 */
export function unmountTarget(
  target: string,
  signal: AbortSignal,
  host: NodeHost = thisNode,
  device?: string,
): Promise<void> {
  return onNode(`unmount ${target}`, () =>
    host.turns.run(`mount ${target}`, async () => {
      const real = await realTarget(host, target);
      await unmountAll(host, real, signal, device);
      if (device !== undefined) await requireReleased(host, { device, directory: real });
      await removeTarget(host, real);
    }),
  );
}

/**
 * Whether a mount is of a whole device that the node has no more, for example because the provider detached it. Its file
 * system is dead. Attached again, the device has another number, because the mount keeps the former one.
 */
async function isDead(host: NodeHost, there: MountEntry): Promise<boolean> {
  return isOfDevice(there) && !(await hasDevice(host, there));
}

/** Whether a mount has the number of its device. Some file systems, such as btrfs, have one of their own (major 0). */
function isOfDevice({ root, source, device }: MountEntry): boolean {
  return root === '/' && source.startsWith('/dev/') && !device.startsWith('0:');
}

/** Whether the file system at a target was shut down after an error of its device, as xfs is: its next mount heals it. */
async function isShutDown({ files }: NodeHost, there: MountEntry): Promise<boolean> {
  if (!isOfDevice(there)) return false;
  return files.kindAt(there.target).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'EIO',
  );
}

/**
 * Unmounts file systems from a target that were shut down, or whose devices the node has no more. Returns what is mounted
 * there then.
 * @param target as {@link realTarget} returns it
 * @throws DriverError; InUse names the holder
 */
export async function unmountDead(
  host: NodeHost,
  target: string,
  signal: AbortSignal,
): Promise<MountEntry | undefined> {
  let there = await mountOn(host, target);
  for (; there; there = await mountOn(host, target)) {
    if (!(await isDead(host, there)) && !(await isShutDown(host, there))) break;
    await unmountOne(host, target, signal);
  }
  return there;
}

/**
 * Unmounts all that is mounted at a target, and with `device` only that, and mounts of devices that the node has no more.
 * @param target as {@link realTarget} returns it
 * @throws DriverError; InUse names the holder or the other mount. A part may be unmounted then.
 */
export async function unmountAll(
  host: NodeHost,
  target: string,
  signal: AbortSignal,
  device?: string,
): Promise<void> {
  const number = device === undefined ? undefined : await host.deviceNumber(device);
  for (let there = await mountOn(host, target); there; there = await mountOn(host, target)) {
    if (number !== undefined && there.device !== number && !(await isDead(host, there)))
      throw new DriverError(
        'InUse',
        `${shownName(there.source)} is mounted at ${target}, not ${device ?? ''}; it is not unmounted: correct the link of the volume's device, or remove it`,
      );
    await unmountOne(host, target, signal);
  }
}

/** Unmounts the top of a target; succeeds if nothing is mounted there. @throws DriverError; InUse names the holder */
async function unmountOne(
  { run, holders }: NodeHost,
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const { exitCode, stderr } = await run('umount', [target], signal);
  if (exitCode === 0 || /not mounted/.test(stderr)) return;
  if (!/busy/.test(stderr))
    throw new DriverError('Unavailable', `umount of ${target} failed: ${stderr.trim()}`);
  const found = await holders.holders({ directory: target });
  throw new DriverError(
    'InUse',
    `${target} is busy, ${describeHolders(found)}; it stays attached until it is released`,
  );
}

/** Removes the directory of a target; succeeds if it is absent. @throws DriverError Unavailable */
export async function removeTarget({ files }: NodeHost, target: string): Promise<void> {
  // Never recursively: its content was not created by this driver.
  await files.removeFolder(target).catch((error: NodeJS.ErrnoException) => {
    if (isAbsence(error)) return;
    throw new DriverError('Unavailable', `can't remove ${target}: ${error.message}`, {
      cause: error,
    });
  });
}
