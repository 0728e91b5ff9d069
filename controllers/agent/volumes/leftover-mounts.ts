import { type Clock, type Logger, sleep } from 'kedge';
import { memoryJournal, type NodeHost, type NodeJournal } from '@kedge/driver-sdk';
import { detachLeftovers } from '../recovery/node-recovery.js';
import type { NodeVolumes } from './node-volumes.js';

/** Options of {@link LeftoverMounts}. */
export interface LeftoverMountsOptions {
  readonly node: NodeVolumes;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: in memory only. */
  readonly journal?: NodeJournal;
  readonly host?: NodeHost;
}

/** Whether a volume is attached here for a claim, or for any. */
export type IsAttached = (uid: string, claim?: string) => boolean;

/**
 * Mounts of an earlier agent process without an attachment in the store, because the volume was force-detached
 * meanwhile. They are kept while their workload runs, and removed with it.
 */
export class LeftoverMounts {
  readonly #options: LeftoverMountsOptions;
  /** Uids of the volumes that a running workload uses without an attachment, by claim. */
  readonly #byClaim = new Map<string, ReadonlySet<string>>();

  constructor(options: LeftoverMountsOptions) {
    this.#options = options;
  }

  /** Whether mounts of force-detached volumes are kept for a claim. */
  has(claim: string): boolean {
    return this.#byClaim.has(claim);
  }

  /**
   * After a restart: keeps mounts and devices of attached volumes and of running workloads, and removes the others. A
   * failed removal is logged and retried at the next start. Returns the uids of attached volumes that are mounted.
   */
  async sort(
    isAttached: IsAttached,
    isRunning: (claim: string) => Promise<boolean>,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { node, logger } = this.#options;
    const mounts = await node.mounted();
    const taken = mounts.filter(({ uid, claim }) => !isAttached(uid, claim));
    const running = new Set<string>();
    for (const claim of new Set(taken.map((mount) => mount.claim)))
      if (claim !== undefined && (await isRunning(claim))) running.add(claim);
    for (const claim of running) {
      const had = taken.filter((mount) => mount.claim === claim).map(({ uid }) => uid);
      this.#byClaim.set(claim, new Set(had));
    }
    for (const mount of taken) {
      const isKept = mount.claim === undefined ? this.#isHad(mount.uid) : running.has(mount.claim);
      if (isKept) continue;
      const { target } = mount;
      try {
        await node.unmount(mount, signal);
        logger.warn('a mount without an attachment in the store was removed', { target });
      } catch (error) {
        const message = 'a mount without an attachment in the store could not be removed';
        logger.warn(message, { target, error });
      }
    }
    await this.#detach((uid) => isAttached(uid) || this.#isHad(uid), signal);
    const attached = mounts.filter(({ uid }) => isAttached(uid)).map(({ uid }) => uid);
    return [...new Set(attached)];
  }

  /**
   * Removes the mounts of a claim, once no workload uses them, and detaches their devices. Idempotent.
   * @throws DriverError; the remaining mounts are kept then
   */
  async remove(claim: string, isAttached: IsAttached, signal: AbortSignal): Promise<void> {
    const uids = this.#byClaim.get(claim);
    if (!uids) return;
    const isUsed = (uid: string): boolean => isAttached(uid) || this.#isHad(uid, claim);
    for (const mount of await this.#options.node.mounted()) {
      if (!uids.has(mount.uid)) continue;
      if (mount.claim === undefined ? isUsed(mount.uid) : mount.claim !== claim) continue;
      await this.#options.node.unmount(mount, signal);
    }
    await this.#detach((uid) => !uids.has(uid) || isUsed(uid), signal);
    this.#byClaim.delete(claim);
  }

  /** Whether mounts of a volume are kept for a claim. */
  keeps(uid: string): boolean {
    return this.#isHad(uid);
  }

  /**
   * Like {@link remove}, for every claim that is not busy. Ends with the budget, also if an unmount hangs. Mounts that
   * remain are logged, and removed at the next start.
   */
  async removeUnused(
    busy: ReadonlySet<string>,
    isAttached: IsAttached,
    budgetMs: number,
  ): Promise<void> {
    const { clock, logger } = this.#options;
    const message = 'mounts of a force-detached volume remain';
    const left = new Set([...this.#byClaim.keys()].filter((claim) => !busy.has(claim)));
    const limit = new AbortController();
    const removeLeft = async (): Promise<void> => {
      for (const claim of left) {
        if (limit.signal.aborted) return;
        try {
          await this.remove(claim, isAttached, limit.signal);
        } catch (error) {
          // The end of the budget is logged below, for all claims.
          if (limit.signal.aborted) return;
          logger.warn(message, { claim, error });
        }
        left.delete(claim);
      }
    };
    if (budgetMs > 0) {
      const over = new AbortController();
      const spent = sleep(clock, budgetMs, over.signal).then(() => limit.abort());
      await Promise.race([removeLeft().finally(() => over.abort()), spent]);
    }
    if (left.size === 0) return;
    logger.warn(message, { claims: [...left], error: 'the shutdown budget has ended' });
  }

  #isHad(uid: string, except?: string): boolean {
    return [...this.#byClaim].some(([claim, uids]) => claim !== except && uids.has(uid));
  }

  /** Detaches devices of unwanted volumes, such as loop devices. */
  #detach(isWanted: (uid: string) => boolean, signal: AbortSignal): Promise<void> {
    const { journal = memoryJournal(), logger, host } = this.#options;
    return detachLeftovers({ journal, logger, ...(host ? { host } : {}) }, isWanted, signal);
  }
}
