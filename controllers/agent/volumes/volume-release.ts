import type { ObjectStore } from 'kedge';
import { DriverError, type KeyedQueue } from '@kedge/driver-sdk';
import { type Volume, volumes } from '../../volume/kind.js';
import { keyOfVolume } from '../../volume/index.js';
import type { AttachmentRecords } from './attachment-records.js';
import type { CallTimes } from './call-times.js';
import type { HeldVolumes } from './held-volumes.js';
import type { NodeCalls } from './node-calls.js';
import type { NodeVolumes } from './node-volumes.js';
import type { UsedParameters } from './used-parameters.js';
import { volumeLabel } from '../../messages/storage.js';

/** Options of {@link VolumeRelease}. */
export interface VolumeReleaseOptions {
  readonly store: ObjectStore;
  readonly nodeName: string;
  readonly node: NodeVolumes;
  readonly records: AttachmentRecords;
  readonly held: HeldVolumes;
  readonly calls: NodeCalls;
  readonly times: CallTimes;
  readonly used: UsedParameters;
  /** Work by storage, serialized. */
  readonly work: KeyedQueue;
}

/** Releases a volume from a claim. */
export class VolumeRelease {
  readonly #options: VolumeReleaseOptions;

  constructor(options: VolumeReleaseOptions) {
    this.#options = options;
  }

  /**
   * Releases a volume from a claim: unpublish, unstage, detach, remove the attachment. While another claim uses the
   * volume on this node, it is neither unstaged nor detached. Returns whether the store had an attachment of the claim.
   * @throws DriverError; the volume stays attached then
   */
  run(given: Volume, claim: string): Promise<boolean> {
    const { store, node, nodeName, records, held, calls, times, used, work } = this.#options;
    return work.run(held.storageOf(given), async () => {
      const volume = await store.get(volumes, keyOfVolume(given));
      if (volume?.metadata.uid !== given.metadata.uid) {
        await this.#releaseGone(given, claim);
        return false;
      }
      const others = (volume.attachments ?? []).filter((a) => a.claim !== claim);
      const here = others.some((a) => a.node === nodeName);
      try {
        await times.limited(async (signal) => {
          await node.unbind(volume, claim, signal);
          if (here) return;
          const mounted = await node.isStaged(volume);
          const leaving = await calls.toDetach(volume, claim, mounted, signal);
          if (!leaving) return;
          const { driver, call, redaction } = leaving;
          await redaction.guard(() => node.unstage(volume, driver, call));
        });
      } catch (thrown) {
        if (!(thrown instanceof DriverError)) throw thrown;
        await records.failed(volume, 'detach', thrown);
        const { kind, message, retryAfterMs } = thrown;
        const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
        const label = volumeLabel.format({ volume: `${volume.namespace}/${volume.name}` });
        throw new DriverError(kind, `${label}: ${message}`, { ...wait, cause: thrown });
      }
      await records.released(volume, claim);
      if (!here) await used.forget(volume.metadata.uid);
      return (volume.attachments ?? []).some((a) => a.claim === claim);
    });
  }

  /**
   * Releases a volume that was deleted or recreated after this node attached it: the store no longer has its
   * attachments, only this process knows them.
   */
  async #releaseGone(volume: Volume, claim: string): Promise<void> {
    const { node, records, held, calls, times, used } = this.#options;
    const { own } = records;
    const claims = own.claimsOf(volume);
    await times.limited(async (signal) => {
      await node.unbind(volume, claim, signal);
      if (claims.some((other) => other !== claim)) return;
      const mounted = await node.isStaged(volume);
      if (!mounted && !claims.includes(claim)) return;
      const { driver, call, redaction } = await calls.whileHeld(volume, signal);
      // A recreated volume with the same storage may be attached by now.
      const keepsDevice = held.twinsOf(volume).some((twin) => held.isHere(twin));
      await redaction.guard(() => node.unstage(volume, driver, call, { keepsDevice }));
    });
    own.remove(volume, claim);
    await used.forget(volume.metadata.uid);
  }
}
