import { basename, join } from 'node:path';
import { unmountTarget } from './block-unmount.js';
import { DriverError } from '../errors/errors.js';
import { detachUnused, loopTable } from './loop-device.js';
import { loopsOf, requireSameFile } from './loop-origin.js';
import type { LoopRecord } from '../journal/loop-record.js';
import type { NodeHost } from '../node/node-host.js';
import type { NodeJournal } from '../journal/node-journal.js';
import type { NodeUndo } from '../journal/node-recovery.js';
import { requireCommand } from '../node/run-command.js';

/** File systems that drivers create. */
const fileSystems = ['ext4', 'xfs'] as const;

/** Undoes states of this node with the programs of the host. */
export function nodeUndo(host: NodeHost, journal: NodeJournal, signal: AbortSignal): NodeUndo {
  return {
    thaw: ({ device }) => thawDevice(host, device, signal),
    unmount: ({ target }) => unmountTarget(target, signal, host),
    detach: async (state) => detachLoops(host, state.file, signal, await journal.loopRecord(state)),
    places: () => placesOfNode(host, signal),
  };
}

/**
 * Returns the sources and targets of mounts in all mount namespaces, and the loop devices and their files if they can
 * be listed.
 */
async function placesOfNode(host: NodeHost, signal: AbortSignal): Promise<readonly string[]> {
  const places = new Set<string>();
  const loops = await loopTable(host.run, signal).catch(() => []);
  for (const { device, file } of loops) places.add(device).add(file);
  for await (const { mounts } of host.processMounts())
    for (const { source, target } of mounts) places.add(source).add(target);
  return [...places];
}

/**
 * Detaches every loop device over a file, also one whose file was removed since.
 * @throws DriverError InUse while one is mounted in any mount namespace or open, or its file was replaced or moved
 */
export async function detachLoops(
  host: NodeHost,
  file: string,
  signal: AbortSignal,
  record?: LoopRecord,
): Promise<void> {
  await requireSameFile(host, file, signal, record);
  for (const device of await loopsOf(host, file, signal, record))
    await detachUnused(host, device, signal);
}

/**
 * Thaws the file system on a device: mounted here, in another mount namespace, or no longer mounted. Succeeds if it
 * is not frozen.
 * @throws DriverError Unavailable if it stays frozen
 */
export async function thawDevice(
  host: NodeHost,
  device: string,
  signal: AbortSignal,
): Promise<void> {
  const number = await host.deviceNumber(device).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (number === undefined) return;
  for (const path of await placesOf(host, number))
    if (await thawAt(host, path, number, signal)) return;
  // A frozen file system outlives its last mount. A new mount of its device is the same file system.
  for (const fsType of fileSystems) {
    const kernels = `/sys/fs/${fsType}/${basename(device)}`;
    if ((await host.files.realPath(kernels)) === undefined) continue;
    await thawUnmounted(host, device, number, fsType, signal);
    return;
  }
  const [left] = await placesOf(host, number);
  if (left !== undefined)
    throw new DriverError(
      'Unavailable',
      `the file system on ${device} could not be thawed at ${left}; run: fsfreeze --unfreeze ${left}`,
    );
}

/** Directories where a device is mounted, of this process and of all others. */
async function placesOf(host: NodeHost, number: string): Promise<readonly string[]> {
  const places: string[] = [];
  for await (const { pid, mounts } of host.processMounts())
    for (const { device, target } of mounts)
      if (device === number) places.push(join('/proc', String(pid), 'root', target));
  return places;
}

/**
 * Thaws the file system at a path, if it is that of the device. Returns whether it is thawed; false if the path has
 * another file system or can't be opened.
 */
async function thawAt(
  host: NodeHost,
  path: string,
  number: string,
  signal: AbortSignal,
): Promise<boolean> {
  const opened = await host.openDirectory(path).catch(() => undefined);
  if (!opened) return false;
  try {
    if (opened.device !== number) return false;
    const { exitCode, stderr } = await host.run('fsfreeze', ['--unfreeze', opened.path], signal);
    return exitCode === 0 || /Invalid argument/.test(stderr);
  } finally {
    await opened.close();
  }
}

async function thawUnmounted(
  host: NodeHost,
  device: string,
  number: string,
  fsType: (typeof fileSystems)[number],
  signal: AbortSignal,
): Promise<void> {
  const { run, files } = host;
  const place = await files.makeTemporaryFolder('kedge-thaw-');
  try {
    await requireCommand(run, 'mount', ['-t', fsType, device, place], signal);
    const thawed = await thawAt(host, place, number, signal).finally(() =>
      requireCommand(run, 'umount', [place], signal),
    );
    if (!thawed)
      throw new DriverError('Unavailable', `the file system on ${device} could not be thawed`);
  } finally {
    await files.removeFolder(place);
  }
}
