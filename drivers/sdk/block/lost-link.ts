import { removeTarget, realTarget, unmountAll } from './block-unmount.js';
import { inUse, requireUnused } from './released-device.js';
import { onNode } from '../errors/on-node.js';
import type { Holder } from '../node/holders.js';
import type { MountEntry } from '../node/mount-table.js';
import { mountsElsewhere, stayingMounts } from '../node/mount-propagation.js';
import { hasDevice, mountOn, type NodeHost } from '../node/node-host.js';

/** Maximum number of reads of all mount namespaces, those of ended processes being removed with a delay. */
const readsMax = 4;
const readPauseMs = 250;

/** The source and the device of a mount, as the mount table names them. */
type Mounted = Pick<MountEntry, 'source' | 'device'>;

/**
 * Unmounts volumes whose link is lost, so that only their mount names the device. Once it is unmounted, the provider
 * would detach it from under other users.
 *
 * - While a mount stays that does not end with the unmount, nothing is unmounted: the mount still names the device,
 *   also after a restart.
 * - After the unmount the device must be unused. Its name is remembered until then.
 * - If nothing is mounted here, for example after a restart in between, a mount at the target in another mount
 *   namespace names the device.
 */
export class LostLinks {
  readonly #host: NodeHost;
  /** Devices that were unmounted here and not seen unused since, by target. */
  readonly #unreleased = new Map<string, Mounted>();

  constructor(host: NodeHost) {
    this.#host = host;
  }

  /**
   * Unmounts `target` and removes the directory; succeeds if it is not mounted.
   * @throws DriverError; InUse names the holder
   */
  unmount(target: string, signal: AbortSignal): Promise<void> {
    const host = this.#host;
    return onNode(`unmount ${target}`, () =>
      host.turns.run(`mount ${target}`, async () => {
        const real = await realTarget(host, target);
        const there = await mountOn(host, real);
        if (there && (await hasDevice(host, there))) {
          await this.#awaitNone(there.source, () => stayingMounts(host, real, there.device));
          this.#unreleased.set(target, there);
        } else if (!there) await this.#requireNoneElsewhere(real);
        await unmountAll(host, real, signal);
        const left = this.#unreleased.get(target);
        if (left && (await hasDevice(host, left))) await requireUnused(left.source, host);
        // Not before: the removal would unmount it in other mount namespaces.
        await removeTarget(host, real);
        this.#unreleased.delete(target);
      }),
    );
  }

  /**
   * Whether a present device is mounted at `target`, in any mount namespace, or was unmounted there and not seen unused
   * since. @throws DriverError InvalidParameters if the target is a link; Unavailable for errors of the system
   */
  isMounted(target: string): Promise<boolean> {
    const host = this.#host;
    return onNode(`find the mounts of ${target}`, async () => {
      const real = await realTarget(host, target);
      const known = [await mountOn(host, real), this.#unreleased.get(target)];
      const elsewhere = await mountsElsewhere(host, real);
      for (const one of [...known, ...elsewhere.map(({ entry }) => entry)])
        if (one && (await hasDevice(host, one))) return true;
      return false;
    });
  }

  /** Forgets a target that was unmounted with its link. */
  forget(target: string): void {
    this.#unreleased.delete(target);
  }

  async #requireNoneElsewhere(target: string): Promise<void> {
    await this.#awaitNone(`the device of ${target}`, async () => {
      const present: Holder[] = [];
      for (const { entry, holder } of await mountsElsewhere(this.#host, target))
        if (await hasDevice(this.#host, entry)) present.push(holder);
      return present;
    });
  }

  /** @throws DriverError InUse if holders remain */
  async #awaitNone(device: string, find: () => Promise<readonly Holder[]>): Promise<void> {
    for (let reads = 1; ; reads += 1) {
      const found = await find();
      if (found.length === 0) return;
      if (reads >= readsMax) throw inUse(device, found);
      await this.#host.pause(readPauseMs);
    }
  }
}
