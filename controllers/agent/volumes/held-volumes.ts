import type { Manager, SharedInformer } from 'kedge';
import type { ParameterResolver } from '../../secret/index.js';
import { type Volume, volumes } from '../../volume/kind.js';
import type { IsAttached } from './leftover-mounts.js';
import type { OwnAttachments } from './own-attachments.js';

/** Dependencies of {@link HeldVolumes}. */
export interface HeldVolumesOptions {
  readonly manager: Manager;
  readonly resolver: ParameterResolver;
  readonly node: string;
  readonly own: OwnAttachments;
}

/**
 * The volumes held by claims, and volumes with shared storage, from the cache and the reservations of this process.
 */
export class HeldVolumes {
  readonly #options: HeldVolumesOptions;

  constructor(options: HeldVolumesOptions) {
    this.#options = options;
    const informer = options.manager.informer(volumes);
    informer.addIndex('claim', (volume) => (volume.attachments ?? []).map((a) => a.claim));
    informer.addIndex('storage', (volume) => [this.storageOf(volume)]);
  }

  /** Returns the other cached volumes with the same storage; none for a volume without a handle. */
  twinsOf(volume: Volume): readonly Volume[] {
    if (!volume.handle) return [];
    return this.onStorageOf(volume).filter(({ metadata }) => metadata.uid !== volume.metadata.uid);
  }

  /**
   * A key for the storage of a volume: its driver and handle, or its uid without a readable handle. Two volumes of one
   * host directory have the same key.
   */
  storageOf({ driver = '', handle, metadata }: Volume): string {
    if (!handle) return metadata.uid;
    try {
      return `${driver} ${this.#options.resolver.openHandle(handle)}`;
    } catch {
      return metadata.uid; // sealed with a missing key: it can't be used anyway
    }
  }

  /**
   * Cached volumes with the storage of a volume, including itself if it is cached. Waiting for one of them means
   * waiting for all.
   */
  onStorageOf(volume: Volume): readonly Volume[] {
    const { lister }: SharedInformer<Volume> = this.#options.manager.informer(volumes);
    return lister.byIndex('storage', this.storageOf(volume));
  }

  /** Volumes that a claim holds. */
  held(claim: string): readonly Volume[] {
    const { lister }: SharedInformer<Volume> = this.#options.manager.informer(volumes);
    return this.#options.own.with(lister.byIndex('claim', claim), claim);
  }

  /**
   * Whether a volume has an attachment on this node, in any state, or a reservation of this process, for a claim or for
   * any.
   */
  isHere(volume: Volume, claim?: string): boolean {
    const claims = this.claimsHere(volume);
    return claim === undefined ? claims.size > 0 : claims.has(claim);
  }

  /** The claims of a volume on this node. */
  claimsHere(volume: Volume): ReadonlySet<string> {
    const shown = (volume.attachments ?? []).filter((a) => a.node === this.#options.node);
    return new Set([...shown.map(({ claim }) => claim), ...this.#options.own.claimsOf(volume)]);
  }

  /** Volumes with an attachment on this node, in any state, or with a reservation of this process. */
  heldHere(): readonly Volume[] {
    const { manager, node } = this.#options;
    const { lister }: SharedInformer<Volume> = manager.informer(volumes);
    const cached = lister.list().filter((v) => v.attachments?.some((a) => a.node === node));
    return this.#options.own.with(cached);
  }

  /**
   * Returns a check whether a volume is attached on this node. It uses the present state and does not see later
   * changes.
   */
  attachedHere(): IsAttached {
    const byUid = new Map(this.heldHere().map((volume) => [volume.metadata.uid, volume]));
    return (uid, claim) => {
      const volume = byUid.get(uid);
      return volume !== undefined && this.isHere(volume, claim);
    };
  }
}
