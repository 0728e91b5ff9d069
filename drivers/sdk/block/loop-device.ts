import { requireUnused } from './released-device.js';
import { DriverError } from '../errors/errors.js';
import type { MountEntry } from '../node/mount-table.js';
import type { NodeHost } from '../node/node-host.js';
import { isReadOnly } from './block-device.js';
import { rootNeeded } from '../messages/index.js';
import { requireCommand, type RunCommand } from '../node/run-command.js';

/** The loop device of an image file; undefined if it has none. @throws DriverError if it can't be determined */
export async function loopOf(
  run: RunCommand,
  image: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const list = ['--associated', image, '--noheadings', '--output', 'NAME'];
  const text = await requireCommand(run, 'losetup', list, signal);
  return text.split('\n')[0]?.trim() || undefined;
}

/** A line of the table of loop devices. */
export interface LoopEntry {
  readonly device: string;
  /** The path of the device's file. If the file was removed, its last path. */
  readonly file: string;
  readonly isRemoved: boolean;
  /** The identity of the device's file, as {@link HostFiles.identity}. */
  readonly identity: string;
  /** Whether the kernel detaches the device when it is closed. */
  readonly autoclear: boolean;
}

const removedEnding = ' (deleted)';

/** The loop devices of the node. @throws DriverError if they can't be determined */
export async function loopTable(
  run: RunCommand,
  signal: AbortSignal,
): Promise<readonly LoopEntry[]> {
  const columns = 'NAME,AUTOCLEAR,BACK-INO,BACK-MAJ:MIN,BACK-FILE';
  const list = ['--list', '--noheadings', '--raw', '--output', columns];
  const table = await requireCommand(run, 'losetup', list, signal);
  return table.split('\n').flatMap((line) => {
    const [device = '', autoclear, inode = '', disk = '', ...path] = line.split(' ');
    if (path.length === 0) return [];
    const text = unescapeRaw(path.join(' '));
    const isRemoved = text.endsWith(removedEnding);
    const file = isRemoved ? text.slice(0, -removedEnding.length) : text;
    const identity = `${unescapeRaw(disk).trim()} ${inode}`;
    return [{ device, file, isRemoved, identity, autoclear: autoclear === '1' }];
  });
}

/** losetup writes bytes that are not plain text as `\x20` in its raw table. */
function unescapeRaw(text: string): string {
  const bytes = text.replaceAll(/\\x([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString();
}

/**
 * Attaches an image file to a writable loop device; returns the existing one, if any.
 * @throws DriverError; Unavailable while the disk of the image is read-only
 */
export function attachLoop(host: NodeHost, image: string, signal: AbortSignal): Promise<string> {
  // Two concurrent calls would each find no device, and create two.
  return host.turns.run(`loop ${image}`, () => attachInTurn(host, image, signal));
}

async function attachInTurn(host: NodeHost, image: string, signal: AbortSignal): Promise<string> {
  const { run } = host;
  const known = await lastingLoopOf(host, image, signal);
  if (known !== undefined) {
    if (!(await isReadOnly(run, known, signal))) return known;
    // A device that was created on a read-only disk stays read-only.
    await detachUnused(host, known, signal);
  }
  const device = await createLoop(run, image, signal);
  // losetup silently creates a read-only device if it can't write to the file.
  if (!(await isReadOnly(run, device, signal))) return device;
  await detachUnused(host, device, signal);
  throw new DriverError(
    'Unavailable',
    `${image} can't be written to: its disk is read-only; check the kernel log for errors (dmesg), and make it writable (mount -o remount,rw)`,
  );
}

/** Waits until the kernel has removed devices of the image that are being detached, then acts like {@link loopOf}. */
async function lastingLoopOf(
  host: NodeHost,
  image: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (;;) {
    const known = await loopOf(host.run, image, signal);
    if (known === undefined || !(await awaitClosed(host, known, signal))) return known;
    // The device was removed, and another image may use it now.
  }
}

/**
 * Detaches a loop device and waits until it is removed.
 * @throws DriverError; InUse while it is mounted in any mount namespace, or open
 */
export async function detachUnused(
  host: NodeHost,
  device: string,
  signal: AbortSignal,
): Promise<void> {
  await requireUnused(device, host);
  await requireCommand(host.run, 'losetup', ['--detach', device], signal);
  await awaitClosed(host, device, signal);
}

/** Maximum wait for the kernel to remove a detached device, milliseconds. */
const removalMsMax = 2_000;
const removalPauseMs = 50;

/**
 * Waits for the kernel to remove a detached device: `losetup --detach` succeeds for an open device, which the kernel
 * removes when it is closed.
 * @returns whether the device was being detached
 * @throws DriverError InUse
 */
async function awaitClosed(host: NodeHost, device: string, signal: AbortSignal): Promise<boolean> {
  const find = async (): Promise<LoopEntry | undefined> =>
    (await loopTable(host.run, signal)).find((loop) => loop.device === device && loop.autoclear);
  const ending = await find();
  if (!ending) return false;
  for (let waited = 0; (await find())?.identity === ending.identity; waited += removalPauseMs) {
    if (waited >= removalMsMax)
      throw new DriverError(
        'InUse',
        `${device} is detached once no process has it open: end those processes (lsof ${device}; grep ${device} /proc/*/mountinfo)`,
      );
    await host.pause(removalPauseMs);
  }
  return true;
}

async function createLoop(run: RunCommand, image: string, signal: AbortSignal): Promise<string> {
  try {
    const device = await requireCommand(run, 'losetup', ['--find', '--show', image], signal);
    return device.trim();
  } catch (error) {
    const { kind, message } = DriverError.from(error);
    const hint =
      process.getuid?.() === 0
        ? 'allow loop devices on this node (/dev/loop-control)'
        : `backing "image" ${rootNeeded.format()}; use backing "directory" otherwise`;
    throw new DriverError(
      kind === 'Unavailable' ? 'PermissionDenied' : kind,
      `${message}; ${hint}`,
      { cause: error },
    );
  }
}

/** The first mount of a loop device in this mount namespace; undefined if it is not mounted here. */
export async function mountOfLoop(host: NodeHost, device: string): Promise<MountEntry | undefined> {
  const number = await host.deviceNumber(device);
  return (await host.mounts()).find((entry) => entry.device === number);
}
