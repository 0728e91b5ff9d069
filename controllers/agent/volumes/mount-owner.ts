import { join } from 'node:path';
import { DriverError, onNode } from '@kedge/driver-sdk';
import type { VolumeMount } from '../../service/kind.js';
import { shellWord } from '../../messages/shell-word.js';
import { openInside } from './bind-mount.js';

/** Read, write and search for the group, which new files inherit. */
const groupMode = 0o2070;

/** The owner of a directory. */
export interface NewOwner {
  /** `<uid>:<gid>` */
  readonly owner: string;
  /** Whether the group gets write access. */
  readonly groupWrites: boolean;
}

/** Sets the owner of a directory that this process may not change; see {@link giveRoot}. */
export type ChangeOwner = (path: string, owner: NewOwner, signal: AbortSignal) => Promise<void>;

/** The root of a mount. */
export interface OwnedRoot {
  /** The path of the volume's content. */
  readonly root: string;
  readonly signal: AbortSignal;
  /** Used if this process may not change the owner, and the mount has no subPath. */
  readonly changeOwner?: ChangeOwner | undefined;
}

/** Whether a mount has fsUser or fsGroup. */
export function namesOwner({ fsUser, fsGroup }: VolumeMount): boolean {
  return fsUser !== undefined || fsGroup !== undefined;
}

/**
 * Sets the owner of a mount's root directory to its fsUser and fsGroup; its content is not changed. A missing
 * directory of a subPath is created if the mount has an fsUser or fsGroup. A new group also gets write access. Later
 * changes of the mode by the workload are kept. No-op if owner and group are right.
 * @throws DriverError
 */
export async function giveRoot(mount: VolumeMount, owned: OwnedRoot): Promise<void> {
  const { fsUser, fsGroup, subPath = '' } = mount;
  if (!namesOwner(mount)) return;
  const handle = await onNode(`open ${join(owned.root, subPath)}`, () =>
    openInside(owned.root, subPath, { make: true }),
  );
  try {
    const { uid, gid, mode } = await handle.stat();
    const user = fsUser ?? uid;
    const group = fsGroup ?? gid;
    if (uid === user && gid === group) return;
    try {
      await handle.chown(user, group);
      if (gid !== group) await handle.chmod((mode & 0o7777) | groupMode);
    } catch (error) {
      const isRefused = (error as NodeJS.ErrnoException).code === 'EPERM';
      if (!isRefused || !owned.changeOwner || subPath !== '') throw error;
      const owner = { owner: `${user}:${group}`, groupWrites: gid !== group };
      await owned.changeOwner(owned.root, owner, owned.signal);
    }
  } catch (error) {
    if (error instanceof DriverError) throw error;
    throw new DriverError('Unavailable', ownerProblem(mount, owned.root, error), { cause: error });
  } finally {
    await handle.close();
  }
}

function ownerProblem(
  { name, fsUser, fsGroup }: VolumeMount,
  root: string,
  error: unknown,
): string {
  const owner = `${fsUser ?? ''}:${fsGroup ?? ''}`;
  return `mount ${name}: its directory can't be given to ${owner}: ${String(error)}; run kedged as root, or type: chown ${owner} ${shellWord(root)}`;
}
