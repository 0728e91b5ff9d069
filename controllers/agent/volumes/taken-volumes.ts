import type { Manager, ObjectStore } from 'kedge';
import type { Instance } from '../../instance/kind.js';
import { type Volume, volumes } from '../../volume/kind.js';
import { claimOf } from './volume-manager.js';

/** Ports of {@link takenVolume}. */
export interface TakenVolumeOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly node: string;
}

/** A volume that a workload was started with and that is not its own any more. */
export interface TakenVolume {
  /** `<namespace>/<name>`. */
  readonly volume: string;
  /** Whether the volume controller still detaches it: nobody else calls the driver until it has. */
  readonly isLeaving: boolean;
}

/**
 * What was taken by hand, while the node did not answer, from an instance that was started with it: somebody else
 * may write to it by now. Undefined while the instance has everything.
 */
export async function takenVolume(
  { store, manager, node }: TakenVolumeOptions,
  instance: Instance,
): Promise<TakenVolume | undefined> {
  const claim = claimOf(instance);
  const attachmentIn = (volume: Volume | undefined) =>
    volume?.attachments?.find((a) => a.claim === claim && a.node === node);
  const has = (volume: Volume | undefined): boolean => {
    const mine = attachmentIn(volume);
    return mine !== undefined && mine.state !== 'Detaching';
  };
  const { lister } = manager.informer(volumes);
  for (const { volume } of instance.mounts ?? []) {
    if (has(lister.get(volume))) continue;
    // The cache may not show yet what this agent has written.
    const [namespace = '', name = ''] = volume.split('/');
    const current = await store.get(volumes, { namespace, name });
    if (!has(current)) return { volume, isLeaving: attachmentIn(current) !== undefined };
  }
  return undefined;
}
