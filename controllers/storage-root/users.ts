import { realpath } from 'node:fs/promises';
import { failedPrecondition } from 'kedge';
import { describeHolders, directoryMounts, type Holders, joinHolders } from '@kedge/driver-sdk';

/**
 * Requires that no process and no mount uses a directory, this process apart. No-op without `holders`.
 * @throws StatusError FailedPrecondition that names the users
 */
export async function requireUnused(path: string, holders: Holders | undefined): Promise<void> {
  if (!holders) return;
  const directory = await realpath(path);
  const found = await joinHolders(holders, directoryMounts).holders({ directory });
  const others = found.filter((holder) => !('pid' in holder) || holder.pid !== process.pid);
  if (others.length === 0) return;
  throw failedPrecondition(
    'StorageRootInUse',
    `volumes in ${path} are in use, for example by workloads of the earlier kedged: ${describeHolders(others)}, then adopt it again`,
  );
}
