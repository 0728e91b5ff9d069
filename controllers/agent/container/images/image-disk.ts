import { statfs } from 'node:fs/promises';
import {
  type Clock,
  EventRecorder,
  type Logger,
  messageOf,
  type ObjectStore,
  type Runnable,
  sleep,
} from 'kedge';
import { eventTtlMs } from '../../../event/admission.js';
import { events } from '../../../event/kind.js';
import { nodes } from '../../../node/kind.js';
import type { ControllerPolicy } from '../../../policy/policy.js';
import { isEngineError } from '../engine/engine-error.js';
import type { NodeImages } from './node-images.js';

/** Dependencies of {@link ImageDisk}. */
export interface ImageDiskOptions {
  readonly store: ObjectStore;
  readonly images: NodeImages;
  /** The directory of the engine's images on this machine. */
  readonly directory: (signal: AbortSignal) => Promise<string>;
  /** Images are removed while more than this share of the disk is used. */
  readonly highPercent: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
  /** Used share of the file system of a directory in percent. Default: as df computes it. */
  readonly usedPercent?: (directory: string) => Promise<number>;
}

/** Used share of a file system in percent, as df computes it: space reserved for root is not counted as free. */
async function dfPercent(directory: string): Promise<number> {
  const { blocks, bfree, bavail } = await statfs(directory);
  const used = blocks - bfree;
  return used + bavail === 0 ? 0 : (used / (used + bavail)) * 100;
}

/** Removes unused images when the disk of the engine becomes full, and records an event of the node. */
export class ImageDisk implements Runnable {
  readonly name = 'image disk';
  readonly #options: ImageDiskOptions;
  readonly #recorder: EventRecorder;
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(options: ImageDiskOptions) {
    this.#options = options;
    const { store, clock, logger } = options;
    this.#recorder = new EventRecorder({
      ...{ store, clock, logger },
      kind: events,
      source: 'kedged',
      ttlMs: eventTtlMs,
    });
  }

  start(): Promise<void> {
    this.#loop = this.#run();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    await this.#recorder.flush();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { clock, logger, policy } = this.#options;
    while (!signal.aborted) {
      try {
        await this.check();
      } catch (error) {
        // A node without an engine has no images.
        const isAway = isEngineError(error, 'Unreachable', 'Unsupported', 'Cancelled');
        if (!isAway) logger.warn("images can't be pruned", { error: messageOf(error) });
      }
      await sleep(clock, policy.imageDiskCheckMs, signal);
    }
  }

  /**
   * Removes unused images while the disk is fuller than `highPercent`. Records what was removed, and whether the disk
   * is still too full, as events of the node.
   */
  async check(): Promise<void> {
    const { signal } = this.#stop;
    const { images, highPercent, usedPercent = dfPercent } = this.#options;
    const directory = await this.#options.directory(signal);
    const isFull = async (): Promise<boolean> => (await usedPercent(directory)) > highPercent;
    if (!(await isFull())) return;
    const removed = await images.prune(signal, { wants: isFull });
    const why = `the disk of ${directory} is more than ${highPercent} % full`;
    if (removed.length > 0) {
      const shown = removed.slice(0, 10).map(({ tags: [tag], id }) => tag ?? id.slice(7, 19));
      const more = removed.length > shown.length ? ' and others' : '';
      await this.#report(
        'Normal',
        'ImagesPruned',
        `${why}: ${removed.length} unused images removed: ${shown.join(', ')}${more}`,
      );
    }
    if (!(await isFull())) return;
    const remedy = 'free disk space, or remove other images (docker image prune)';
    await this.#report(
      'Warning',
      'ImageDiskFull',
      `${why}, and there is no image of Kedge to remove; ${remedy}`,
    );
  }

  async #report(type: 'Normal' | 'Warning', reason: string, message: string): Promise<void> {
    const { store, images, logger } = this.#options;
    if (type === 'Warning') logger.warn(message);
    else logger.info(message);
    const node = await store.get(nodes, { name: images.node });
    if (node) this.#recorder.record({ kind: nodes.kind, object: node }, type, reason, message);
  }
}
