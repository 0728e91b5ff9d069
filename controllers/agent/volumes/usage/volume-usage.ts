import { join } from 'node:path';
import {
  type Clock,
  keyString,
  type Logger,
  messageOf,
  type ObjectStore,
  type Runnable,
  runTxn,
  sleep,
  timestamp,
} from 'kedge';
import type { NodeHost } from '@kedge/driver-sdk';
import { type Instance, instances } from '../../../instance/kind.js';
import type { ControllerPolicy } from '../../../policy/policy.js';
import { keyOfVolume } from '../../../volume/index.js';
import { type Volume, volumes } from '../../../volume/kind.js';
import { fileSystemUsage, filesUsage } from './file-system-usage.js';
import { usageMetrics } from './usage-metrics.js';
import { usageChange, type VolumeUse } from './usage-report.js';

/** Dependencies of {@link VolumeUsage}. */
export interface VolumeUsageOptions {
  readonly store: ObjectStore;
  readonly node: string;
  readonly host: NodeHost;
  readonly mountRoot: string;
  /** Volumes that are attached on this node. */
  readonly attached: () => readonly Volume[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
}

/** Time limit of a measurement. The device may not answer, or a directory may have too many files. */
const measureMs = 30_000;

interface Measured {
  readonly volume: Volume;
  readonly use: VolumeUse;
  /** Time of the last attempt to count the files of the volume, even if it failed, monotonic milliseconds. */
  readonly filesAt: number;
}

interface Place {
  readonly path: string;
  /** Whether the file system belongs to the volume alone. */
  readonly isOwn: boolean;
}

/** Measures the use of the mounted volumes of this node, for their status and for metrics. */
export class VolumeUsage implements Runnable {
  readonly name = 'volume usage';
  readonly #options: VolumeUsageOptions;
  readonly #stop = new AbortController();
  #measured: ReadonlyMap<string, Measured> = new Map();
  #loop: Promise<void> | undefined;

  constructor(options: VolumeUsageOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    this.#loop = this.#run();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  /** The last measurements in Prometheus' text format. */
  text(): string {
    return usageMetrics(
      [...this.#measured.values()].map(({ volume: { namespace, name }, use }) => ({
        namespace,
        name,
        use,
      })),
    );
  }

  async #run(): Promise<void> {
    const { clock, logger, policy } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.measure();
      } catch (error) {
        if (!signal.aborted)
          logger.warn("the use of volumes can't be measured", { error: messageOf(error) });
      }
      await sleep(clock, policy.volumeUsageMs, signal);
    }
  }

  /**
   * Measures every mounted volume once, sequentially, and writes its use into its status if it has changed enough. The
   * files of a directory are counted at most every `volumeFilesMs`.
   */
  async measure(): Promise<void> {
    const { attached, host, node, store } = this.#options;
    const mounts = new Set((await host.mounts()).map(({ target }) => target));
    const { items } = await store.list(instances);
    const here = items.filter((instance) => instance.node === node);
    const measured = new Map<string, Measured>();
    for (const volume of attached()) {
      if (this.#stop.signal.aborted) return;
      const place = this.#placeOf(volume, mounts, here);
      const found = place && (await this.#measureOne(volume, place));
      if (!found) continue;
      measured.set(volume.metadata.uid, found);
      await this.#report(volume, found.use);
    }
    this.#measured = measured;
  }

  #placeOf(
    volume: Volume,
    mounts: ReadonlySet<string>,
    here: readonly Instance[],
  ): Place | undefined {
    const staging = join(this.#options.mountRoot, volume.metadata.uid);
    if (mounts.has(staging)) return { path: staging, isOwn: true };
    // A directory is used in place. Its path is in the status of the instances that mount it.
    const shown = keyString(keyOfVolume(volume));
    for (const instance of here) {
      const mount = instance.mounts?.find((each) => each.volume === shown);
      if (mount) return { path: mount.source, isOwn: false };
    }
    return undefined;
  }

  async #measureOne(volume: Volume, { path, isOwn }: Place): Promise<Measured | undefined> {
    const { clock, host, logger, policy } = this.#options;
    const now = clock.monotonic();
    const before = this.#measured.get(volume.metadata.uid);
    const limit = new AbortController();
    const abort = (): void => limit.abort();
    const timer = clock.setTimer(abort, measureMs);
    this.#stop.signal.addEventListener('abort', abort, { once: true });
    try {
      const fileSystem = await fileSystemUsage(host.run, path, limit.signal);
      if (!fileSystem) return undefined;
      if (isOwn) return { volume, use: { fileSystem, isOwn }, filesAt: now };
      if (before && now - before.filesAt < policy.volumeFilesMs)
        return { ...before, volume, use: { ...before.use, fileSystem } };
      const files = await filesUsage(host.run, path, limit.signal).catch(() => undefined);
      return { volume, use: { fileSystem, files, isOwn }, filesAt: now };
    } catch (error) {
      logger.debug("the use of a volume can't be measured", {
        volume: keyString(keyOfVolume(volume)),
        error: messageOf(error),
      });
      return undefined;
    } finally {
      timer.cancel();
      this.#stop.signal.removeEventListener('abort', abort);
    }
  }

  #report(volume: Volume, use: VolumeUse): Promise<void> {
    const { clock, store } = this.#options;
    const now = timestamp(clock);
    const key = keyOfVolume(volume);
    return runTxn(store, async (txn) => {
      const current = await txn.get(volumes, key);
      if (current?.metadata.uid !== volume.metadata.uid) return;
      const change = usageChange(current, use, now);
      if (change) txn.updateStatus(volumes, key, change);
    });
  }
}
