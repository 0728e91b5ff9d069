import {
  demandCommand,
  deviceNumber,
  DriverError,
  inTurn,
  type MountEntry,
  readMountTable,
  type RunCommand,
} from '@kedge/driver-sdk';

/** The loop device of an image file, if it has one. */
export async function loopOf(
  run: RunCommand,
  image: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const list = ['--associated', image, '--noheadings', '--output', 'NAME'];
  const text = await demandCommand(run, 'losetup', list, signal);
  return text.split('\n')[0]?.trim() || undefined;
}

/** Gives an image file a loop device; the one it has already, if any. */
export function attachLoop(run: RunCommand, image: string, signal: AbortSignal): Promise<string> {
  // Two at once would find no device each, and make two.
  return inTurn(`loop ${image}`, () => attachInTurn(run, image, signal));
}

async function attachInTurn(run: RunCommand, image: string, signal: AbortSignal): Promise<string> {
  const known = await loopOf(run, image, signal);
  if (known !== undefined) return known;
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
      {
        cause: error,
      },
    );
  }
}

/** Where a loop device is mounted in this mount namespace. */
export async function mountOfLoop(device: string): Promise<MountEntry | undefined> {
  const number = await deviceNumber(device);
  return (await readMountTable()).find((entry) => entry.device === number);
}
