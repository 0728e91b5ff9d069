import type { Manager, ObjectStore } from 'kedge';
import type { Instance } from '../../instance/kind.js';
import { type Volume, volumes } from '../../volume/kind.js';
import { claimOf } from './volume-manager.js';

/** Dependencies of {@link lostVolume}. */
export interface LostVolumeOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly node: string;
}

/** A volume that a running workload lost. */
export interface LostVolume {
  /** `<namespace>/<name>`. */
  readonly volume: string;
  /** Whether the volume controller is still detaching it: until then only that controller calls the driver. */
  readonly isLeaving: boolean;
}

/**
 * The volume that was force-detached from a running instance while the node was silent: another instance may write
 * to it by now. Undefined if the instance has all its volumes.
 */
export async function lostVolume(
  { store, manager, node }: LostVolumeOptions,
  instance: Instance,
): Promise<LostVolume | undefined> {
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
    // The cache may lag behind this agent's writes.
    const [namespace = '', name = ''] = volume.split('/');
    const current = await store.get(volumes, { namespace, name });
    if (!has(current)) return { volume, isLeaving: attachmentIn(current) !== undefined };
  }
  return undefined;
}
