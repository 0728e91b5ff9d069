import { DriverError } from '../contract/errors.js';
import type { LoopRecord } from '../journal/loop-record.js';
import type { NodeHost } from '../node/node-host.js';
import { type LoopEntry, loopOf, loopTable } from './loop-device.js';

const noRecord: LoopRecord = { identity: undefined, imagesOf: () => Promise.resolve([]) };

/**
 * Every loop device of the image of a volume: over the file that is at its path, and over those removed or moved
 * from there. Without a device of another volume.
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

/** Loop devices of an image over another file than is at its path now, which was removed or moved. */
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

/** An old record may have the inode that the image of another volume has by now. */
async function isOfAnother({ file, isRemoved, identity }: LoopEntry, record: LoopRecord) {
  return !isRemoved && (await record.imagesOf(identity)).includes(file);
}

/** The loop device over the file at a path that was made for the image of another volume. */
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
 * Demands that no other file has taken the place of one that a loop device has. Nobody but a person knows which of
 * the two belongs to the volume, so neither is copied, resized, detached or deleted.
 * @throws DriverError InUse
 */
export async function demandSameFile(
  host: NodeHost,
  image: string,
  signal: AbortSignal,
  record: LoopRecord = noRecord,
): Promise<void> {
  const isThere = (await host.files.kindAt(image)) !== 'absent';
  const others = await loopsElsewhere(host, image, signal, record);
  // A file that is removed, with none in its place, is gone by somebody's decision.
  const other = others.find(({ isRemoved }) => isThere || !isRemoved);
  if (!other) return;
  const { device } = other;
  const what = isThere ? 'replaced' : 'moved';
  const goOn = isThere ? 'use the present file' : 'continue without it';
  throw new DriverError(
    'InUse',
    `${image} was ${what}: ${device} uses the previous file, ${await wayBack(host, image, other, signal)}. Until then, no file is changed. To ${goOn}, stop the users of the volume, then: losetup --detach ${device}`,
  );
}

/** The commands that bring the file of a loop device back to its path. */
async function wayBack(
  host: NodeHost,
  image: string,
  { device, file, isRemoved }: LoopEntry,
  signal: AbortSignal,
): Promise<string> {
  if (isRemoved) return `which was unlinked; to keep it: cp --sparse=always ${device} FILE`;
  const now = await host.files.identity(image);
  const isLoop = (await loopTable(host.run, signal)).some(({ identity }) => identity === now);
  // The file there now is attached, too: it must not be overwritten.
  const aside = `mv ${image} ${image}.aside; mv ${file} ${image}`;
  return isLoop
    ? `which is now at ${file}, and the file here belongs to another device; restore both (${aside}; mv ${image}.aside ${file})`
    : `which is now at ${file}; to restore it: mv ${file} ${image}`;
}

/**
 * Demands that the file at the path of an image is not one that another volume is attached with: a device of it
 * would give one volume the data of the other.
 * @throws DriverError InUse
 */
export async function demandOwnFile(
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
 * Demands that a loop device is one of the file at the path of an image: the device that an attachment gave may have
 * the image of another volume by now.
 * @throws DriverError Unavailable
 */
export async function demandLoopOf(
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
    `${device} is no longer a device of ${image} (${has}); it is not mounted. The volume is attached again`,
  );
}
