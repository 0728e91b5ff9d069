import { DriverError } from '../errors/errors.js';
import type { LoopRecord } from '../journal/loop-record.js';
import type { NodeHost } from '../node/node-host.js';
import { type LoopEntry, loopOf, loopTable } from './loop-device.js';

const noRecord: LoopRecord = { identity: undefined, imagesOf: () => Promise.resolve([]) };

/**
 * All loop devices of a volume's image: of the file at its path, and of files that were removed or moved from there.
 * Devices of other volumes are excluded.
 * @throws DriverError if they can't be determined
 */
export async function loopsOf(
  host: NodeHost,
  image: string,
  signal: AbortSignal,
  record: LoopRecord = noRecord,
): Promise<readonly string[]> {
  const isThere = (await host.files.realPath(image)) !== undefined;
  const isForeign = isThere && (await loopOfAnother(host, image, signal, record)) !== undefined;
  const first = isThere && !isForeign ? await loopOf(host.run, image, signal) : undefined;
  const others = (await loopsElsewhere(host, image, signal, record)).map(({ device }) => device);
  return first === undefined || others.includes(first) ? others : [first, ...others];
}

/** Loop devices of an image whose file was removed or moved from its path. */
async function loopsElsewhere(
  { run, files }: NodeHost,
  image: string,
  signal: AbortSignal,
  record: LoopRecord,
): Promise<readonly LoopEntry[]> {
  const now = await files.identity(image);
  const found: LoopEntry[] = [];
  for (const loop of await loopTable(run, signal)) {
    const isMoved = loop.identity === record.identity && loop.identity !== now;
    if (loop.isRemoved && loop.file === image) found.push(loop);
    else if (isMoved && !(await isOfAnother(loop, record))) found.push(loop);
  }
  return found;
}

/** Whether a loop device is of another volume's image: the inode in an old record may have been reused for it. */
async function isOfAnother({ file, isRemoved, identity }: LoopEntry, record: LoopRecord) {
  return !isRemoved && (await record.imagesOf(identity)).includes(file);
}

/** The loop device of the file at a path, if it was created for another volume's image. */
async function loopOfAnother(
  { run, files }: NodeHost,
  image: string,
  signal: AbortSignal,
  record: LoopRecord,
): Promise<{ readonly device: string; readonly images: readonly string[] } | undefined> {
  const now = await files.identity(image);
  if (now === undefined || now === record.identity) return undefined;
  const loop = (await loopTable(run, signal)).find(({ identity }) => identity === now);
  if (!loop) return undefined;
  const images = (await record.imagesOf(now)).filter((other) => other !== image);
  return images.length > 0 ? { device: loop.device, images } : undefined;
}

/**
 * Refuses an image whose file was replaced or moved while a loop device uses it. Only an operator can decide which file
 * belongs to the volume, so neither is copied, resized, detached or deleted.
 * @throws DriverError InUse
 */
export async function requireSameFile(
  host: NodeHost,
  image: string,
  signal: AbortSignal,
  record: LoopRecord = noRecord,
): Promise<void> {
  const isThere = (await host.files.kindAt(image)) !== 'absent';
  const others = await loopsElsewhere(host, image, signal, record);
  // A removed file without a replacement was removed on purpose.
  const other = others.find(({ isRemoved }) => isThere || !isRemoved);
  if (!other) return;
  const { device } = other;
  const what = isThere ? 'replaced' : 'moved';
  const goOn = isThere ? 'use the present file' : 'continue without it';
  throw new DriverError(
    'InUse',
    `${image} was ${what}: ${device} uses the previous file, ${await rollback(host, image, other, signal)}. Until then, no file is changed. To ${goOn}, stop the users of the volume, then: losetup --detach ${device}`,
  );
}

/** The commands that restore the file of a loop device to its path. */
async function rollback(
  host: NodeHost,
  image: string,
  { device, file, isRemoved }: LoopEntry,
  signal: AbortSignal,
): Promise<string> {
  if (isRemoved) return `which was unlinked; to keep it: cp --sparse=always ${device} FILE`;
  const now = await host.files.identity(image);
  const isLoop = (await loopTable(host.run, signal)).some(({ identity }) => identity === now);
  // The present file is also attached and must not be overwritten.
  const aside = `mv ${image} ${image}.aside; mv ${file} ${image}`;
  return isLoop
    ? `which is now at ${file}, and the file here belongs to another device; restore both (${aside}; mv ${image}.aside ${file})`
    : `which is now at ${file}; to restore it: mv ${file} ${image}`;
}

/**
 * Refuses an image whose file is attached for another volume: its device would expose the data of that volume.
 * @throws DriverError InUse
 */
export async function requireOwnFile(
  host: NodeHost,
  image: string,
  signal: AbortSignal,
  record: LoopRecord,
): Promise<void> {
  const found = await loopOfAnother(host, image, signal, record);
  if (!found) return;
  const { device, images } = found;
  const before = images.join(', ');
  throw new DriverError(
    'InUse',
    `${image} was at ${before} before, and ${device} uses it for the volume of that name; restore it (mv ${image} ${images[0]}). Until then, no file is changed. To use it here, stop the users of the other volume, then: losetup --detach ${device}`,
  );
}

/**
 * Refuses a loop device that is not of the file at the path of an image: the device of an earlier attach may have
 * been reused for another volume's image.
 * @throws DriverError Unavailable
 */
export async function requireLoopOf(
  { run, files }: NodeHost,
  device: string,
  image: string,
  signal: AbortSignal,
): Promise<void> {
  const identity = await files.identity(image);
  const loop = (await loopTable(run, signal)).find((entry) => entry.device === device);
  if (loop && loop.identity === identity && !loop.autoclear) return;
  const has = loop ? `it has ${loop.file}` : 'it has no file';
  throw new DriverError(
    'Unavailable',
    `${device} is no longer a device of ${image} (${has}); it is not mounted. kedged attaches the volume again`,
  );
}
