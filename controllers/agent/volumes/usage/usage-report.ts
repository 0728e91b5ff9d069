import { findCondition } from 'kedge';
import type { Volume, VolumeStatus } from '../../../volume/kind.js';
import { type NewCondition, setCondition } from '../../../reasons/index.js';
import { type FileSystemUsage, usedPercent } from './file-system-usage.js';
import { ownFileSystemFull, sharedDiskFull } from '../../../messages/storage.js';

/** Thresholds of space or inodes: nearly full above the first one, until the share falls to the second one. */
const nearlyFullPercent = 90;
const roomAgainPercent = 88;
/**
 * Smaller changes are not written into the status. For a file system of its own: 1/100 of its size. For a directory,
 * whose disk may be much larger: 1/20 of its use, but at least this number of bytes or inodes.
 */
const smallBytes = 1_048_576n;
const fewInodes = 100n;

/** The measured use of a volume. */
export interface VolumeUse {
  /** The file system that the volume is on. */
  readonly fileSystem: FileSystemUsage;
  /** The use of the files of a directory, which shares its file system; undefined if it was not measured. */
  readonly files?: Pick<FileSystemUsage, 'usedBytes' | 'usedInodes'> | undefined;
  /** Whether the file system belongs to the volume alone. */
  readonly isOwn: boolean;
}

/** The numbers for status and metrics. Those of the files of a directory are undefined if they were not measured. */
export function reportedUse({ fileSystem, files, isOwn }: VolumeUse): {
  readonly usedBytes: bigint | undefined;
  readonly usedInodes: bigint | undefined;
} {
  const { usedBytes, usedInodes } = isOwn ? fileSystem : (files ?? {});
  return { usedBytes, usedInodes };
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function isFarFrom(
  reported: string | undefined,
  measured: bigint | undefined,
  small: (reported: bigint) => bigint,
): boolean {
  if (measured === undefined) return false;
  if (!reported || !/^\d+$/.test(reported)) return true;
  const difference = measured - BigInt(reported);
  return (difference < 0n ? -difference : difference) > small(BigInt(reported));
}

function spaceCondition(
  volume: Volume,
  { fileSystem, isOwn }: VolumeUse,
): NewCondition | undefined {
  const { usedInodes, totalInodes } = fileSystem;
  const space = usedPercent(fileSystem);
  const inodes = totalInodes === 0n ? 0 : Number((usedInodes * 1_000n) / totalInodes) / 10;
  const was = findCondition(volume.conditions, 'SpaceLow')?.status === 'True';
  const limit = was ? roomAgainPercent : nearlyFullPercent;
  const isLow = Math.max(space, inodes) > limit;
  if (!isLow && !was) return undefined;
  const full = isOwn ? ownFileSystemFull : sharedDiskFull;
  const resource = space >= inodes ? 'space' : 'inodes';
  return isLow
    ? {
        type: 'SpaceLow',
        status: 'True',
        reason: 'NearlyFull',
        message: full.format({ percent: nearlyFullPercent, resource }),
      }
    : { type: 'SpaceLow', status: 'False', reason: 'EnoughSpace', message: '' };
}

/** The change of a volume's status after a measurement; undefined if it is too small. */
export function usageChange(volume: Volume, use: VolumeUse, now: string): VolumeStatus | undefined {
  const { totalBytes, totalInodes } = use.fileSystem;
  const { usedBytes, usedInodes } = reportedUse(use);
  const small = (least: bigint, total: bigint) => (reported: bigint) =>
    use.isOwn && total > 0n ? total / 100n : larger(least, reported / 20n);
  const numbers =
    isFarFrom(volume.usedBytes, usedBytes, small(smallBytes, totalBytes)) ||
    isFarFrom(volume.usedInodes, usedInodes, small(fewInodes, totalInodes)) ||
    volume.totalBytes !== String(totalBytes);
  const condition = spaceCondition(volume, use);
  const known = findCondition(volume.conditions, 'SpaceLow');
  const isNew = condition !== undefined && condition.message !== known?.message;
  if (!numbers && !isNew) return undefined;
  return {
    ...(usedBytes !== undefined && { usedBytes: String(usedBytes) }),
    ...(usedInodes !== undefined && { usedInodes: String(usedInodes) }),
    totalBytes: String(totalBytes),
    totalInodes: totalInodes === 0n ? '' : String(totalInodes),
    ...(condition && { conditions: setCondition(volume.conditions, condition, now) }),
  };
}
