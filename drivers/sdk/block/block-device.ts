import { DriverError } from '../errors/errors.js';
import { onNode } from '../errors/on-node.js';
import type { HostFiles, NodeHost } from '../node/node-host.js';
import { requireCommand, type RunCommand } from '../node/run-command.js';

/** File systems that block drivers create (specification section 8). */
export type FsType = 'ext4' | 'xfs';

/** The content of a device. */
export type DeviceContent =
  /** Verified: no signature, and only zeros at the head and the tail. */
  | { readonly type: 'blank' }
  | { readonly type: 'fileSystem'; readonly fsType: FsType }
  /** Foreign content: never formatted, never mounted. */
  | { readonly type: 'foreign'; readonly what: string };

/** Pauses between checks for a device that has not appeared yet, milliseconds. */
const firstPauseMs = 50;
const longestPauseMs = 500;

/**
 * Waits for a by-id link to a block device; returns the real path of the device.
 * @throws DriverError Unavailable if it does not appear within `waitMs` (a missed udev event, a device that is not
 * attached), InvalidParameters if it is not a block device, Timeout when `signal` is aborted.
 */
export async function waitForDevice(
  host: NodeHost,
  path: string,
  waitMs: number,
  signal: AbortSignal,
): Promise<string> {
  const { files } = host;
  let waited = 0;
  for (let next = firstPauseMs; ; next = Math.min(next * 2, longestPauseMs)) {
    const { real, kind } = await onNode(`inspect ${path}`, async () => {
      const found = await files.realPath(path);
      return { real: found, kind: found === undefined ? undefined : await files.kindAt(found) };
    });
    if (real !== undefined) {
      if (kind === 'blockDevice') return real;
      throw new DriverError(
        'InvalidParameters',
        `${path} points to ${real}, which is not a block device`,
      );
    }
    if (waited >= waitMs)
      throw new DriverError(
        'Unavailable',
        `device ${path} did not appear within ${waitMs} ms; is the volume attached to this node?`,
      );
    await host.pause(next, signal).catch((cause: unknown) => {
      throw new DriverError('Timeout', `the wait for device ${path} was cancelled`, { cause });
    });
    waited += next;
  }
}

/** Whether head and tail of a device are zeros. @throws DriverError Unavailable if they can't be read */
async function readsAsZeros(files: HostFiles, device: string, sizeBytes: bigint): Promise<boolean> {
  return files.startsAndEndsBlank(device, sizeBytes).catch((cause: unknown) => {
    const words = cause instanceof Error ? cause.message : String(cause);
    throw new DriverError('Unavailable', `${device} can't be read: ${words}; it is not changed`, {
      cause,
    });
  });
}

/** Size of a block device in bytes. @throws DriverError if it can't be read */
export async function deviceSize(
  run: RunCommand,
  device: string,
  signal: AbortSignal,
): Promise<bigint> {
  const text = await requireCommand(run, 'blockdev', ['--getsize64', device], signal);
  return BigInt(text.trim());
}

/**
 * The content of a device. `blkid` exits with 2 for a blank disk, a missing device and random data, so its exit
 * code alone does not prove blankness.
 * @throws DriverError if it can't be determined
 */
export async function inspectDevice(
  { run, files }: NodeHost,
  device: string,
  signal: AbortSignal,
): Promise<DeviceContent> {
  const zeros = await readsAsZeros(files, device, await deviceSize(run, device, signal));
  const probe = await run('blkid', ['-p', '-o', 'export', device], signal);
  const tags = new Map(
    probe.stdout
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line): [string, string] => [
        line.slice(0, line.indexOf('=')),
        line.slice(line.indexOf('=') + 1),
      ]),
  );
  if (probe.exitCode === 0) {
    const table = tags.get('PTTYPE');
    if (table !== undefined) return { type: 'foreign', what: `a partition table (${table})` };
    const type = tags.get('TYPE') ?? 'something unknown';
    if (type === 'ext4' || type === 'xfs') return { type: 'fileSystem', fsType: type };
    return { type: 'foreign', what: type };
  }
  if (probe.exitCode === 2)
    return zeros ? { type: 'blank' } : { type: 'foreign', what: 'data without a known format' };
  if (probe.exitCode === 8) return { type: 'foreign', what: 'signatures of several formats' };
  throw new DriverError(
    'Unavailable',
    `blkid ended with exit code ${probe.exitCode} for ${device}: ${probe.stderr.trim()}`,
  );
}

/** Serializes work: several of these programs together exceed the memory of small nodes. */
function oneAtATime<T>({ turns }: NodeHost, work: () => Promise<T>): Promise<T> {
  return turns.run('file systems', work);
}

/**
 * Creates a file system. The caller must have verified that the device (or new image file) is blank.
 * @throws DriverError if mkfs fails
 */
export function makeFileSystem(
  host: NodeHost,
  device: string,
  fsType: FsType,
  signal: AbortSignal,
): Promise<void> {
  return oneAtATime(host, async () => {
    // No reserved blocks: a volume has no root user to keep space for.
    const args = fsType === 'ext4' ? ['-q', '-F', '-m0', device] : ['-q', '-f', device];
    await requireCommand(host.run, `mkfs.${fsType}`, args, signal);
  });
}

/**
 * Checks an ext4 file system and corrects what is safe to correct; xfs replays its log when mounted.
 * @throws DriverError InUse if the device is open; Internal if errors remain or the check fails, and the file system must
 * not be mounted; other kinds if e2fsck can't be run
 */
export function checkFileSystem(
  host: NodeHost,
  device: string,
  fsType: FsType,
  signal: AbortSignal,
): Promise<void> {
  if (fsType === 'xfs') return Promise.resolve();
  return oneAtATime(host, async () => {
    const { exitCode, stdout, stderr } = await host.run('e2fsck', ['-p', device], signal);
    if (exitCode < 4) return;
    const words = (stdout.trim() || stderr.trim()).slice(0, 500);
    requireFree(device, words);
    throw new DriverError(
      'Internal',
      `the file system on ${device} has errors that e2fsck does not correct automatically: ${words}; repair it manually (e2fsck ${device})`,
    );
  });
}

/** Checks by its output why e2fsck failed. @throws DriverError InUse if the device is in use */
function requireFree(device: string, words: string): void {
  if (/is (in use|mounted)/.test(words))
    throw new DriverError(
      'InUse',
      `${device} is in use, and its file system can't be checked: end the processes that have it open (lsof ${device}; grep ${device} /proc/*/mountinfo)`,
    );
}

/**
 * Checks an unmounted ext4 file system, and grows it to its device. A kill leaves errors that e2fsck -p does not
 * correct.
 * @throws DriverError InUse if the device is open; other kinds if the check or the growth fails
 */
export async function growUnmounted(
  host: NodeHost,
  device: string,
  signal: AbortSignal,
): Promise<void> {
  await oneAtATime(host, async () => {
    // resize2fs requires a full check first.
    const { exitCode, stdout, stderr } = await host.run('e2fsck', ['-f', '-p', device], signal);
    if (exitCode >= 4) {
      const words = (stdout.trim() || stderr.trim()).slice(0, 500);
      requireFree(device, words);
      throw new DriverError(
        'Internal',
        `e2fsck of ${device} failed: ${words}; repair it manually (e2fsck -f ${device})`,
      );
    }
    await requireCommand(host.run, 'resize2fs', [device], signal);
  });
}

/** Whether an ext4 file system is smaller than its device. @throws DriverError if a size can't be read */
export async function isSmaller(
  run: RunCommand,
  device: string,
  signal: AbortSignal,
): Promise<boolean> {
  const header = await requireCommand(run, 'dumpe2fs', ['-h', device], signal);
  const count = /^Block count:\s+(\d+)$/m.exec(header)?.[1];
  const size = /^Block size:\s+(\d+)$/m.exec(header)?.[1];
  if (count === undefined || size === undefined)
    throw new DriverError('Internal', `the size of the file system on ${device} can't be read`);
  const blockBytes = BigInt(size);
  return BigInt(count) < (await deviceSize(run, device, signal)) / blockBytes;
}

/**
 * Grows a mounted file system to its device. Returns false if resize2fs fails, for example because the kernel does not
 * permit it to grow ext4.
 * @throws DriverError if xfs_growfs fails, and if a program is not installed or is aborted
 */
export async function growMounted(
  run: RunCommand,
  device: string,
  target: string,
  fsType: FsType,
  signal: AbortSignal,
): Promise<boolean> {
  if (fsType === 'xfs') {
    await requireCommand(run, 'xfs_growfs', ['-d', target], signal);
    return true;
  }
  // Needs CAP_SYS_RESOURCE; without it the next mount grows it.
  return (await run('resize2fs', [device], signal)).exitCode === 0;
}

/** Whether a block device is write-protected. @throws DriverError if that can't be read */
export async function isReadOnly(
  run: RunCommand,
  device: string,
  signal: AbortSignal,
): Promise<boolean> {
  return (await requireCommand(run, 'blockdev', ['--getro', device], signal)).trim() === '1';
}
