import { DriverError, type FsType, type NodeHost } from '@kedge/driver-sdk';

const blankCode = 2;

function numberAfter(text: string, pattern: RegExp): bigint | undefined {
  const [, digits] = pattern.exec(text) ?? [];
  return digits === undefined ? undefined : BigInt(digits);
}

/** The tool that reads the size of a file system, and its error for a truncated one. */
const sizeTools = {
  ext4: {
    command: 'dumpe2fs',
    options: ['-h'],
    blocks: /^Block count:\s+(\d+)$/m,
    blockBytes: /^Block size:\s+(\d+)$/m,
    partMissing: /short read|magic number|corrupt|checksum/i,
  },
  xfs: {
    command: 'xfs_db',
    options: ['-r', '-c', 'sb 0', '-c', 'print dblocks blocksize'],
    blocks: /^dblocks = (\d+)$/m,
    blockBytes: /^blocksize = (\d+)$/m,
    partMissing: /not a valid XFS|read only \d+ of|size check failed/i,
  },
} as const;

/** Whether the image is as long as the file system in it. @throws DriverError Unavailable */
async function isWhole(
  { run, files }: NodeHost,
  image: string,
  fsType: FsType,
  signal: AbortSignal,
): Promise<boolean> {
  const { command, options, blocks, blockBytes, partMissing } = sizeTools[fsType];
  const { exitCode, stdout, stderr } = await run(command, [...options, image], signal);
  const count = numberAfter(stdout, blocks);
  const size = numberAfter(stdout, blockBytes);
  // xfs_db exits with 0 even if it could not read a part.
  if ((exitCode !== 0 || count === undefined) && partMissing.test(stderr)) return false;
  if (exitCode !== 0 || count === undefined || size === undefined)
    throw new DriverError(
      'Unavailable',
      `the size of the file system in ${image} can't be determined: ${command} ended with exit code ${exitCode}: ${stderr.trim()}`,
    );
  return count * size <= BigInt(await files.size(image));
}

/**
 * Checks that a file contains a complete file system. An emptied, overwritten or truncated image can be copied like any
 * other file, and its copy would be no valid snapshot.
 * @param image the copy, or the image itself before it is resized
 * @param source the image that it was copied from, for the message
 * @throws DriverError NotFound if the data is missing, Unavailable if it can't be determined
 */
export async function requireFileSystem(
  host: NodeHost,
  image: string,
  source: string,
  signal: AbortSignal,
): Promise<void> {
  const remedy = 'restore an earlier snapshot';
  const probe = await host.run('blkid', ['-p', '-s', 'TYPE', '-o', 'value', image], signal);
  if (probe.exitCode !== 0 && probe.exitCode !== blankCode)
    throw new DriverError(
      'Unavailable',
      `blkid ended with exit code ${probe.exitCode} for ${source}: ${probe.stderr.trim()}`,
    );
  const fsType = probe.stdout.trim();
  if (fsType !== 'ext4' && fsType !== 'xfs')
    throw new DriverError(
      'NotFound',
      `${source} contains no file system: it was emptied or overwritten and can't be copied or resized; ${remedy}`,
    );
  if (!(await isWhole(host, image, fsType, signal)))
    throw new DriverError(
      'NotFound',
      `${source} was truncated: a part of its file system is missing, and it can't be copied or resized; ${remedy}`,
    );
}
