import {
  DriverError,
  type NodeHost,
  type NodeJournal,
  type OpenedDirectory,
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

/** The request of {@link copyMountedImage}. */
export interface MountedCopy {
  readonly host: NodeHost;
  readonly journal: NodeJournal;
  readonly source: MountedImage;
  readonly draft: string;
  readonly signal: AbortSignal;
}

/**
 * Copies an image at one point in time, with its file system frozen. The freeze stays in the journal until the thaw
 * is verified, so that the next start thaws the file system after a kill.
 * @throws DriverError QuotaExceeded for a full disk; Unavailable if the mount has changed, or the file system stays frozen
 */
export async function copyMountedImage(copy: MountedCopy): Promise<void> {
  const { host, journal, source, draft, signal } = copy;
  const { uid, device, image } = source;
  const opened = await openMounted(host, source);
  try {
    await journal.hold(
      { type: 'freeze', uid, device },
      () => copyFrozenImage(host.run, opened.path, image, draft, signal),
      // Without the signal of the call: its abort may have ended the copy.
      () => thawDevice(host, device, new AbortController().signal),
    );
  } finally {
    await opened.close();
  }
}

/** Opens the root of the mounted file system. @throws DriverError Unavailable if the mount changed meanwhile */
async function openMounted(
  host: NodeHost,
  { target, device }: MountedImage,
): Promise<OpenedDirectory> {
  const opened = await host.openDirectory(target);
  try {
    if (opened.device === (await host.deviceNumber(device))) return opened;
    throw new DriverError('Unavailable', `${device} is no longer mounted at ${target}`);
  } catch (error) {
    await opened.close();
    throw error;
  }
}
