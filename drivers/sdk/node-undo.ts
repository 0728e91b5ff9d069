import { constants } from 'node:fs';
import { mkdtemp, open, rmdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { demandUnused, unmountTarget } from './block-mount.js';
import { DriverError } from './errors.js';
import { loopsOf } from './loop-device.js';
import { deviceNumber, formatDeviceNumber } from './mount-table.js';
import { processMounts } from './process-mounts.js';
import type { NodeUndo } from './node-recovery.js';
import { demandCommand, type RunCommand } from './run-command.js';

const directoryOnly = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** File systems that drivers make. */
const fileSystems = ['ext4', 'xfs'] as const;

/** Undoes states of this node with the programs of the host. */
export function nodeUndo(run: RunCommand, signal: AbortSignal): NodeUndo {
  return {
    thaw: ({ device }) => thawDevice(run, device, signal),
    unmount: ({ target }) => unmountTarget(target, signal, run),
    detach: ({ file }) => detachLoops(run, file, signal),
  };
}

/**
 * Detaches every loop device over a file, also one whose file was removed since.
 * @throws DriverError InUse while one is mounted in any mount namespace
 */
export async function detachLoops(
  run: RunCommand,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  for (const device of await loopsOf(run, file, signal)) {
    await demandUnused(device);
    await demandCommand(run, 'losetup', ['--detach', device], signal);
  }
}

/**
 * Thaws the file system on a device, wherever it is mounted: here, in the mount namespace of another
 * process, or, after its last mount went while it was frozen, nowhere. Success when it is not frozen.
 * @throws DriverError Unavailable when it is frozen and stays so
 */
export async function thawDevice(
  run: RunCommand,
  device: string,
  signal: AbortSignal,
): Promise<void> {
  const number = await deviceNumber(device).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (number === undefined) return;
  for (const path of await placesOf(number)) if (await thawAt(run, path, number, signal)) return;
  // A frozen file system outlives its last mount. A new mount of its device is the same file system.
  for (const fsType of fileSystems) {
    if (!(await exists(`/sys/fs/${fsType}/${basename(device)}`))) continue;
    await thawUnmounted(run, device, number, fsType, signal);
    return;
  }
  const [left] = await placesOf(number);
  if (left !== undefined)
    throw new DriverError(
      'Unavailable',
      `the file system on ${device} could not be thawed at ${left}; try fsfreeze --unfreeze there`,
    );
}

/** Directories where a device is mounted, of this process and of all others. */
async function placesOf(number: string): Promise<readonly string[]> {
  const places: string[] = [];
  for await (const { pid, mounts } of processMounts())
    for (const { device, target } of mounts)
      if (device === number) places.push(join('/proc', String(pid), 'root', target));
  return places;
}

/** Thaws what is mounted at a path, if it is the device; false when that can't be told there. */
async function thawAt(
  run: RunCommand,
  path: string,
  number: string,
  signal: AbortSignal,
): Promise<boolean> {
  const handle = await open(path, directoryOnly).catch(() => undefined);
  if (!handle) return false;
  try {
    if (formatDeviceNumber((await handle.stat()).dev) !== number) return false;
    const opened = `/proc/${process.pid}/fd/${handle.fd}`;
    const { exitCode, stderr } = await run('fsfreeze', ['--unfreeze', opened], signal);
    return exitCode === 0 || /Invalid argument/.test(stderr);
  } finally {
    await handle.close();
  }
}

async function thawUnmounted(
  run: RunCommand,
  device: string,
  number: string,
  fsType: (typeof fileSystems)[number],
  signal: AbortSignal,
): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), 'kedge-thaw-'));
  try {
    await demandCommand(run, 'mount', ['-t', fsType, device, place], signal);
    const thawed = await thawAt(run, place, number, signal).finally(() =>
      demandCommand(run, 'umount', [place], signal),
    );
    if (!thawed)
      throw new DriverError('Unavailable', `the file system on ${device} could not be thawed`);
  } finally {
    await rmdir(place);
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false;
      throw error;
    },
  );
}
