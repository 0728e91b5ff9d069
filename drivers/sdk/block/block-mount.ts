import { dirname } from 'node:path';
import {
  checkFileSystem,
  type DeviceContent,
  deviceSize,
  type FsType,
  growMounted,
  growUnmounted,
  inspectDevice,
  isSmaller,
  makeFileSystem,
  waitForDevice,
} from './block-device.js';
import type { MountRequest, MountResult, Parameters } from '../contract/driver.js';
import { DriverError } from '../errors/errors.js';
import { mountChecked } from './mount-command.js';
import { realTarget, unmountDead } from './block-unmount.js';
import type { NodeHost } from '../node/node-host.js';
import { requireCommand } from '../node/run-command.js';
import { requireUnmounted } from './unmounted-device.js';
import { sizeReadAgain } from './device-size.js';
import { onNode } from '../errors/on-node.js';
import { shownName } from '../errors/shown-name.js';
import { thisNode } from '../node/this-node.js';

/** Options of {@link mountBlockDevice}. */
export interface BlockMountOptions {
  readonly host?: NodeHost;
  /** Timeout until an attached device appears; default 30 s. */
  readonly deviceWaitMs?: number;
  /** Whether the device is the volume's, by its serial, if the provider sets one. */
  readonly identify?: (device: string) => Promise<boolean>;
  /**
   * Whether `identify` knows the device by more than its link, such as a serial. Default: no. Then the mount is refused
   * while the device is mounted writable outside of the directory of `target`.
   */
  readonly hasSerial?: (device: string) => Promise<boolean>;
  /**
   * Whether the device has the size of the volume: the first mount refuses one of another size, and a later one a
   * smaller one. Default: false.
   */
  readonly exactSize?: boolean;
}

/** Two devices whose sizes differ by more are different ones, bytes. Providers have volumes of whole GiB. */
const sizeTolerance = 64n * 1024n ** 2n;

/** The requested file system. @throws DriverError InvalidParameters for an invalid resolved value */
function wantedFsType({ fsType = '' }: Parameters): FsType {
  if (fsType === '' || fsType === 'ext4') return 'ext4';
  if (fsType === 'xfs') return 'xfs';
  throw new DriverError(
    'InvalidParameters',
    'parameter fsType: the value is not allowed; use one of ext4, xfs',
  );
}

/**
 * Returns the type of the file system on a device, and creates one on a blank device if that is permitted.
 * @throws DriverError for other content, or for a blank device that must not be formatted
 */
async function requireFileSystem(
  host: NodeHost,
  device: string,
  request: MountRequest,
): Promise<FsType> {
  const content: DeviceContent = await inspectDevice(host, device, request.signal);
  switch (content.type) {
    case 'fileSystem':
      return content.fsType;
    case 'foreign':
      throw new DriverError(
        'InvalidParameters',
        `device ${device} contains ${content.what}, not a file system of this volume; it is neither formatted nor mounted. Inspect it, and wipe it if its data is not needed (wipefs --all ${device})`,
      );
    case 'blank': {
      if (!request.mayFormat)
        throw new DriverError(
          'Internal',
          request.isCopy === true
            ? `device ${device} is blank, but the volume was restored or imported, so that it is not formatted: it is the wrong device, its data is lost, or nothing was written to it before; in the last case delete the volume, and create another one`
            : `device ${device} is blank, but the volume was formatted before, so that it is not formatted again: it is the wrong device, or its data is lost`,
        );
      if (request.readOnly)
        throw new DriverError(
          'InvalidParameters',
          `nothing is on this volume: its device ${device} is blank, and a ReadOnlyMany volume is mounted read-only and never formatted; create a volume from a snapshot instead (source.snapshot)`,
        );
      const fsType = wantedFsType(request.parameters);
      await makeFileSystem(host, device, fsType, request.signal);
      return fsType;
    }
  }
}

/** Whether a device is smaller than the volume. */
async function isShort(
  host: NodeHost,
  device: string,
  { sizeBytes = 0n, signal }: MountRequest,
): Promise<boolean> {
  return (await deviceSize(host.run, device, signal)) + sizeTolerance < sizeBytes;
}

/**
 * Refuses a device that can't be the volume's by its size. A device without a serial is only known by its link, which
 * may lead to the disk of another user. Before the first mount has ended, nothing but a growth changes the size, also
 * if it made a file system and was killed. Later an operator may have grown the volume at its provider, so that only a
 * smaller device is refused.
 * @throws DriverError Unavailable; a growth that has not finished changes the size soon
 */
async function requireSize(
  host: NodeHost,
  device: string,
  { sizeBytes, mayFormat, signal }: MountRequest,
): Promise<void> {
  if (sizeBytes === undefined) return;
  const found = await deviceSize(host.run, device, signal);
  const isSmall = found + sizeTolerance < sizeBytes;
  if (!isSmall && (!mayFormat || found <= sizeBytes + sizeTolerance)) return;
  const remedy = isSmall
    ? `or the node has not noticed that it grew: then ${sizeReadAgain(device)}`
    : `or it was grown at its provider: then set the size of the volume to ${found} bytes`;
  throw new DriverError(
    'Unavailable',
    `device ${device} has ${found} bytes, and the volume has ${sizeBytes}: it is another disk, to which the link of the volume leads, the volume is still growing, ${remedy}; it is neither formatted nor mounted`,
  );
}

/**
 * Mounts a block device at `target`: waits for it, verifies its identity, formats it only with consent and proof of
 * blankness, checks, mounts and grows it. Idempotent: an existing mount is kept.
 * @throws DriverError
 */
export function mountBlockDevice(
  request: MountRequest,
  options: BlockMountOptions = {},
): Promise<MountResult> {
  const { host = thisNode } = options;
  const { target } = request;
  return onNode(`mount ${request.devicePath}`, () =>
    host.turns.run(`mount ${target}`, () => mountInTurn(host, request, options)),
  );
}

async function mountInTurn(
  host: NodeHost,
  request: MountRequest,
  options: BlockMountOptions,
): Promise<MountResult> {
  const { signal, readOnly } = request;
  const { run, files } = host;
  const device = await waitForDevice(
    host,
    request.devicePath,
    options.deviceWaitMs ?? 30_000,
    signal,
  );
  if (options.identify && !(await options.identify(device)))
    throw new DriverError(
      'Unavailable',
      `${request.devicePath} is a stale link to ${device}, which has the serial of another volume; it is not mounted`,
    );
  await files.makeFolder(dirname(request.target), { parents: true, mode: 0o750 });
  const target = await realTarget(host, request.target);
  const there = await unmountDead(host, target, signal);
  if (there) {
    if (there.device !== (await host.deviceNumber(device)))
      throw new DriverError(
        'InUse',
        `${shownName(there.source)} is mounted at ${target}, not ${device}; unmount it first`,
      );
    if (readOnly && !there.readOnly)
      throw new DriverError(
        'InUse',
        `${device} is mounted writable at ${target}; unmount it before mounting it read-only`,
      );
    if (!readOnly && there.readOnly)
      throw new DriverError(
        'InUse',
        `${device} is mounted read-only at ${target}; unmount it before mounting it writable`,
      );
    const fsType: FsType = there.fsType === 'xfs' ? 'xfs' : 'ext4';
    // The node may notice the growth of the device later.
    const isWhole = async (): Promise<boolean> =>
      options.exactSize !== true || !(await isShort(host, device, request));
    const grown =
      there.readOnly ||
      ((await isWhole()) && (await growMounted(run, device, target, fsType, signal)));
    return { path: request.target, formatted: true, fileSystemPending: !grown };
  }
  const isLinkAlone = !((await options.hasSerial?.(device)) ?? false);
  await requireUnmounted(host, device, target, { mayFormat: request.mayFormat, isLinkAlone });
  if (options.exactSize === true) await requireSize(host, device, request);
  const fsType = await requireFileSystem(host, device, request);
  if (!readOnly) await checkFileSystem(host, device, fsType, signal);
  await files.makeFolder(target, { parents: true, mode: 0o750 });
  try {
    await mountChecked(host, device, target, fsType, request);
    if (!readOnly) await growNew(host, device, target, fsType, request);
  } catch (error) {
    await files.removeFolder(target).catch(() => undefined);
    throw error;
  }
  return { path: request.target, formatted: true };
}

/**
 * Grows a newly mounted file system. Online growth of ext4 is journaled. A killed offline resize2fs leaves errors that
 * need a manual repair, so it runs only if the kernel refuses online growth.
 */
async function growNew(
  host: NodeHost,
  device: string,
  target: string,
  fsType: FsType,
  request: MountRequest,
): Promise<void> {
  const { signal } = request;
  if (fsType === 'ext4' && !(await isSmaller(host.run, device, signal))) return;
  if (await growMounted(host.run, device, target, fsType, signal)) return;
  await requireCommand(host.run, 'umount', [target], signal);
  await growUnmounted(host, device, signal);
  await mountChecked(host, device, target, fsType, request);
}
