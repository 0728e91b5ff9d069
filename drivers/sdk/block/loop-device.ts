import { demandUnused } from './block-mount.js';
import { DriverError } from '../contract/errors.js';
import type { MountEntry } from '../node/mount-table.js';
import type { NodeHost } from '../node/node-host.js';
import { demandCommand, type RunCommand } from '../node/run-command.js';

/** The loop device of an image file, if it has one. @throws DriverError when that can't be found out */
export async function loopOf(
  run: RunCommand,
  image: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const list = ['--associated', image, '--noheadings', '--output', 'NAME'];
  const text = await demandCommand(run, 'losetup', list, signal);
  return text.split('\n')[0]?.trim() || undefined;
}

/** Every loop device over a path: over the file that is there, and over those removed from there. */
export async function loopsOf(
  { run, files }: NodeHost,
  image: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const isThere = (await files.realPath(image)) !== undefined;
  const first = isThere ? await loopOf(run, image, signal) : undefined;
  const devices = (await loopTable(run, signal)).flatMap(({ device, file, isRemoved }) =>
    isRemoved && file === image ? [device] : [],
  );
  return first === undefined ? devices : [first, ...devices];
}

/** A line of the table of loop devices. */
interface LoopEntry {
  readonly device: string;
  /** Where its file is, or was before it was removed. */
  readonly file: string;
  readonly isRemoved: boolean;
}

const removedEnding = ' (deleted)';

/** The loop devices of the node. @throws DriverError when they can't be found out */
export async function loopTable(
  run: RunCommand,
  signal: AbortSignal,
): Promise<readonly LoopEntry[]> {
  const columns = ['--list', '--noheadings', '--raw', '--output', 'NAME,BACK-FILE'];
  const table = await demandCommand(run, 'losetup', columns, signal);
  return table.split('\n').flatMap((line) => {
    const end = line.indexOf(' ');
    if (end <= 0) return [];
    const text = unescapeRaw(line.slice(end + 1));
    const isRemoved = text.endsWith(removedEnding);
    const file = isRemoved ? text.slice(0, -removedEnding.length) : text;
    return [{ device: line.slice(0, end), file, isRemoved }];
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
 * Gives an image file a loop device that can be written to; the one it has already, if any.
 * @throws DriverError Unavailable while the disk of the image is read-only
 */
export function attachLoop(host: NodeHost, image: string, signal: AbortSignal): Promise<string> {
  // Two at once would find no device each, and make two.
  return host.turns.run(`loop ${image}`, () => attachInTurn(host, image, signal));
}

async function attachInTurn(host: NodeHost, image: string, signal: AbortSignal): Promise<string> {
  const { run } = host;
  const known = await loopOf(run, image, signal);
  if (known !== undefined) {
    if (!(await isReadOnly(run, known, signal))) return known;
    // Made when the disk was read-only, and it stays so when the disk is well again.
    await detachUnused(host, known, signal);
  }
  const device = await attachAnew(run, image, signal);
  // losetup makes a read-only device where it can't write, and says nothing.
  if (!(await isReadOnly(run, device, signal))) return device;
  await detachUnused(host, device, signal);
  throw new DriverError(
    'Unavailable',
    `${image} can't be written to: its disk is read-only; look for its errors (dmesg), and make it writable (mount -o remount,rw)`,
  );
}

async function isReadOnly(run: RunCommand, device: string, signal: AbortSignal): Promise<boolean> {
  return (await demandCommand(run, 'blockdev', ['--getro', device], signal)).trim() === '1';
}

/** Detaches a loop device. @throws DriverError InUse while it is mounted in any mount namespace */
export async function detachUnused(
  host: NodeHost,
  device: string,
  signal: AbortSignal,
): Promise<void> {
  await demandUnused(device, host);
  await demandCommand(host.run, 'losetup', ['--detach', device], signal);
}

async function attachAnew(run: RunCommand, image: string, signal: AbortSignal): Promise<string> {
  try {
    const device = await demandCommand(run, 'losetup', ['--find', '--show', image], signal);
    return device.trim();
  } catch (error) {
    const { kind, message } = DriverError.from(error);
    const hint =
      process.getuid?.() === 0
        ? 'allow loop devices on this node (/dev/loop-control)'
        : 'backing "image" needs kedged to run as root; use backing "directory" otherwise';
    throw new DriverError(
      kind === 'Unavailable' ? 'PermissionDenied' : kind,
      `${message}; ${hint}`,
      { cause: error },
    );
  }
}

/** Where a loop device is mounted in this mount namespace. */
export async function mountOfLoop(host: NodeHost, device: string): Promise<MountEntry | undefined> {
  const number = await host.deviceNumber(device);
  return (await host.mounts()).find((entry) => entry.device === number);
}
