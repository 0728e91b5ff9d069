import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import {
  deviceNumber,
  DriverError,
  formatDeviceNumber,
  type NodeJournal,
  type RunCommand,
  thawDevice,
} from '@kedge/driver-sdk';
import { copyFrozenImage } from './copy.js';

/** An image that is mounted. */
export interface MountedImage {
  readonly uid: string;
  readonly image: string;
  /** Its loop device. */
  readonly device: string;
  readonly target: string;
}

/** What {@link copyMountedImage} is asked for. */
export interface MountedCopy {
  readonly run: RunCommand;
  readonly journal: NodeJournal;
  readonly source: MountedImage;
  readonly draft: string;
  readonly signal: AbortSignal;
}

/**
 * Copies an image at one point in time, its file system frozen meanwhile. The freeze is in the journal
 * until the file system was seen to be thawed, so that the next start thaws what a kill left frozen.
 * @throws DriverError; what could not be thawed stays in the journal
 */
export async function copyMountedImage(copy: MountedCopy): Promise<void> {
  const { run, journal, source, draft, signal } = copy;
  const { uid, device, image } = source;
  const opened = await openMounted(source);
  try {
    await journal.hold(
      { type: 'freeze', uid, device },
      () => copyFrozenImage(run, `/proc/${process.pid}/fd/${opened.fd}`, image, draft, signal),
      // Not with the signal of the call, which may be why the copy ended.
      () => thawDevice(run, device, new AbortController().signal),
    );
  } finally {
    await opened.close();
  }
}

/** The root of the mounted file system. @throws DriverError Unavailable when the mount changed meanwhile */
async function openMounted({ target, device }: MountedImage): Promise<FileHandle> {
  const handle = await open(
    target,
    constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
  );
  const is = formatDeviceNumber((await handle.stat()).dev);
  if (is === (await deviceNumber(device))) return handle;
  await handle.close();
  throw new DriverError('Unavailable', `${device} is not what is mounted at ${target} any more`);
}
