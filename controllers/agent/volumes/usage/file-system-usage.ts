import type { RunCommand } from '@kedge/driver-sdk';

/** Space and inodes of a file system. */
export interface FileSystemUsage {
  readonly usedBytes: bigint;
  readonly totalBytes: bigint;
  /** Space that users other than root can still use. */
  readonly availableBytes: bigint;
  readonly usedInodes: bigint;
  /** 0 for a file system that allocates inodes dynamically. */
  readonly totalInodes: bigint;
}

/**
 * The use of the file system of a path; undefined if it can't be read. A separate program reads it, because the call
 * may block on a lost device.
 * @throws DriverError Timeout
 */
export async function fileSystemUsage(
  run: RunCommand,
  path: string,
  signal: AbortSignal,
): Promise<FileSystemUsage | undefined> {
  const format = '%S %b %f %a %c %d';
  const { exitCode, stdout } = await run('stat', ['-f', '-c', format, '--', path], signal);
  const numbers = stdout.trim().split(' ');
  if (exitCode !== 0 || !numbers.every((text) => /^\d+$/.test(text))) return undefined;
  const [block = 0n, blocks = 0n, free = 0n, available = 0n, inodes = 0n, freeInodes = 0n] =
    numbers.map(BigInt);
  return {
    usedBytes: (blocks - free) * block,
    totalBytes: blocks * block,
    availableBytes: available * block,
    usedInodes: inodes === 0n ? 0n : inodes - freeInodes,
    totalInodes: inodes,
  };
}

/** The use of the files of a directory; undefined if some of them can't be read. @throws DriverError Timeout */
export async function filesUsage(
  run: RunCommand,
  path: string,
  signal: AbortSignal,
): Promise<Pick<FileSystemUsage, 'usedBytes' | 'usedInodes'> | undefined> {
  const counted = async (...options: readonly string[]): Promise<bigint | undefined> => {
    const args = ['-n', '19', 'du', '-s', '-x', ...options, '--', path];
    const { exitCode, stdout } = await run('nice', args, signal);
    const [, number] = /^(\d+)\t/.exec(stdout) ?? [];
    return exitCode === 0 && number !== undefined ? BigInt(number) : undefined;
  };
  const usedBytes = await counted('--block-size=1');
  const usedInodes = await counted('--inodes');
  return usedBytes === undefined || usedInodes === undefined
    ? undefined
    : { usedBytes, usedInodes };
}

/** The used share of the usable space in percent, as in df. */
export function usedPercent({ usedBytes, totalBytes, availableBytes }: FileSystemUsage): number {
  const usable = usedBytes + availableBytes;
  return usable === 0n || totalBytes === 0n ? 0 : Number((usedBytes * 1_000n) / usable) / 10;
}
