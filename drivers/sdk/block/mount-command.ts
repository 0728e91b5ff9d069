import type { MountRequest } from '../contract/driver.js';
import type { NodeHost } from '../node/node-host.js';
import { requireCommand } from '../node/run-command.js';
import { type FsType, isReadOnly } from './block-device.js';

/** The mount options that skip the replay of a journal. */
const withoutReplay = { ext4: 'noload', xfs: 'norecovery' } as const;

/**
 * Mounts a file system whose device was checked. A read-only mount of a write-protected device, such as a disk that is
 * attached to several instances, skips the replay of its journal if the kernel refuses the mount with it.
 * @throws DriverError if the mount fails
 */
export async function mountChecked(
  { run }: Pick<NodeHost, 'run'>,
  device: string,
  target: string,
  fsType: FsType,
  { readOnly, signal }: Pick<MountRequest, 'readOnly' | 'signal'>,
): Promise<void> {
  // A restored xfs has its source's UUID; regenerating it has damaged data elsewhere.
  const flags = [...(readOnly ? ['ro'] : []), ...(fsType === 'xfs' ? ['nouuid'] : [])];
  // Without -w, mount(8) mounts a write-protected device read-only, and exits with 0.
  const access = readOnly ? [] : ['-w'];
  const mount = (options: readonly string[]): Promise<string> => {
    const given = options.length > 0 ? ['-o', options.join(',')] : [];
    return requireCommand(
      run,
      'mount',
      ['-t', fsType, ...access, ...given, device, target],
      signal,
    );
  };
  try {
    await mount(flags);
  } catch (error) {
    // A read-only mount replays the journal too, which the kernel refuses on a write-protected device.
    if (!readOnly || !(await isReadOnly(run, device, signal).catch(() => false))) throw error;
    // The error of the first attempt names the cause.
    await mount([...flags, withoutReplay[fsType]]).catch(() => {
      throw error;
    });
  }
}
