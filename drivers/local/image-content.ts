import { DriverError, type NodeHost } from '@kedge/driver-sdk';

const blankCode = 2;

function numberAfter(text: string, label: string): bigint | undefined {
  const [, digits] = new RegExp(`^${label}:\\s+(\\d+)$`, 'm').exec(text) ?? [];
  return digits === undefined ? undefined : BigInt(digits);
}

/** What dumpe2fs says of a file system of which a part is missing. */
const partMissing = /short read|magic number|corrupt|checksum/i;

/** Whether the image is as long as the ext4 file system in it. @throws DriverError Unavailable */
async function isWhole(
  { run, files }: NodeHost,
  image: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { exitCode, stdout, stderr } = await run('dumpe2fs', ['-h', image], signal);
  if (exitCode !== 0 && partMissing.test(stderr)) return false;
  const count = numberAfter(stdout, 'Block count');
  const size = numberAfter(stdout, 'Block size');
  if (exitCode !== 0 || count === undefined || size === undefined)
    throw new DriverError(
      'Unavailable',
      `dumpe2fs ended with exit code ${exitCode} for ${image}: ${stderr.trim()}`,
    );
  return count * size <= BigInt(await files.size(image));
}

/**
 * A copy is worth keeping only if there is a file system in it, all of it: an image that somebody emptied,
 * overwrote or cut is copied like any other file.
 * @param image the copy
 * @param source what it was copied from, for the message
 * @throws DriverError NotFound when the data is not there, Unavailable when it can't be found out
 */
export async function demandFileSystem(
  host: NodeHost,
  image: string,
  source: string,
  signal: AbortSignal,
): Promise<void> {
  const wayOut = 'restore an earlier snapshot';
  const probe = await host.run('blkid', ['-p', '-s', 'TYPE', '-o', 'value', image], signal);
  if (probe.exitCode !== 0 && probe.exitCode !== blankCode)
    throw new DriverError(
      'Unavailable',
      `blkid ended with exit code ${probe.exitCode} for a copy of ${source}: ${probe.stderr.trim()}`,
    );
  const fsType = probe.stdout.trim();
  if (fsType !== 'ext4' && fsType !== 'xfs')
    throw new DriverError(
      'NotFound',
      `${source} holds no file system: it was emptied or overwritten, so there is nothing to copy; ${wayOut}`,
    );
  if (fsType === 'ext4' && !(await isWhole(host, image, signal)))
    throw new DriverError(
      'NotFound',
      `${source} was cut: a part of its file system is missing, so it is not copied; ${wayOut}`,
    );
}
