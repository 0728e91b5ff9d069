import type { Readable } from 'node:stream';
import type { Clock } from 'kedge';
import type { Instance } from '../../../instance/kind.js';
import type { EngineImage, EngineImages } from '../engine/engine-images.js';
import { isEngineError } from '../engine/engine-error.js';
import { ArchiveNames } from './archive-names.js';
import type { ImageOrigin, ImageRecords } from './image-records.js';
import { familiar, usersOf } from './image-users.js';

/** Dependencies of {@link NodeImages}. */
export interface NodeImagesOptions {
  readonly node: string;
  readonly images: EngineImages;
  readonly records: ImageRecords;
  readonly instances: () => Promise<readonly Instance[]>;
  readonly clock: Clock;
}

/** An image of this node. */
export interface NodeImage extends EngineImage {
  /** Undefined for an image of another user of the engine. */
  readonly origin: ImageOrigin | undefined;
  /** Time of the pull, load or last use for a start, milliseconds since the epoch; undefined without an origin. */
  readonly usedAt: number | undefined;
  /** Instances that use it: `<namespace>/<name>`. */
  readonly users: readonly string[];
}

/** Options of a prune. */
export interface PruneRequest {
  /** Whether only to return the images that would be removed. */
  readonly dryRun?: boolean;
  /** Called for each candidate, also in a dry run: whether to remove it. False skips only this image. Default: true. */
  readonly wants?: () => Promise<boolean>;
}

/** The images of this node's engine. */
export class NodeImages {
  readonly #options: NodeImagesOptions;
  #pruning: Promise<unknown> = Promise.resolve();

  constructor(options: NodeImagesOptions) {
    this.#options = options;
  }

  get node(): string {
    return this.#options.node;
  }

  /** All images, the newest first. @throws EngineError */
  list(signal: AbortSignal): Promise<readonly NodeImage[]> {
    return this.#list(signal, true);
  }

  async #list(signal: AbortSignal, isWaiting: boolean): Promise<readonly NodeImage[]> {
    const { images, records, instances } = this.#options;
    const found = await images.list(signal, isWaiting);
    const known = new Map((await records.all()).map((record) => [record.id, record]));
    const here = await instances();
    return found
      .map((image) => ({
        ...image,
        origin: known.get(image.id)?.origin,
        usedAt: known.get(image.id)?.usedAt,
        users: usersOf(image, here),
      }))
      .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1));
  }

  /**
   * Loads images from a tar archive of `docker save`, and returns their names, or ids if they have none.
   * @throws EngineError with the engine's message, and for an archive with too many names
   */
  async load(
    tar: Readable,
    onText: (text: string) => void,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { images, records, clock } = this.#options;
    // Before the load: a prune may remove an image and its record meanwhile.
    const foreign = await records.unrecorded((await images.list(signal)).map(({ id }) => id));
    const names = new ArchiveNames();
    const loaded = await images
      .load(names.pass(tar), signal, ({ text }) => onText(text))
      .catch((error: unknown) => {
        throw names.refusal ?? error;
      });
    for (const name of loaded) {
      const image = await images.inspect(name, signal);
      // An image that the engine had before may belong to another user of the engine.
      if (!image || foreign.has(image.id)) continue;
      await records.brought(image.id, name, 'loaded', clock.now());
    }
    return loaded;
  }

  /**
   * Removes images that Kedge pulled or loaded and no instance uses, the least recently used first. Returns the removed
   * images. An image is kept if it has a name from another user, or if a container uses it.
   * @throws EngineError
   */
  prune(signal: AbortSignal, request: PruneRequest = {}): Promise<readonly NodeImage[]> {
    const pruned = this.#pruning.then(() => this.#prune(signal, request));
    this.#pruning = pruned.catch(() => undefined);
    return pruned;
  }

  async #prune(
    signal: AbortSignal,
    { dryRun = false, wants = () => Promise.resolve(true) }: PruneRequest,
  ): Promise<readonly NodeImage[]> {
    const { images, records } = this.#options;
    const removed: NodeImage[] = [];
    const here = new Map((await this.#list(signal, false)).map((image) => [image.id, image]));
    for (const { id, names, usedAt } of await records.all()) {
      const image = here.get(id);
      if (!image) {
        // Another user of the engine removed it, unless it was pulled or loaded after the list.
        if (!dryRun && !(await images.inspect(id, signal))) await records.forget(id, usedAt);
        continue;
      }
      // A service may name an image of Docker Hub with the parts that the engine omits.
      const own = new Set(names.map(familiar));
      const foreign = image.tags.some((tag) => !own.has(familiar(tag)));
      if (foreign || !(await wants())) continue;
      // Read again: an instance may have been bound during an earlier removal.
      if (usersOf(image, await this.#options.instances()).length > 0) continue;
      // It was pulled, loaded or used since the list.
      if ((await records.find(id))?.usedAt !== usedAt) continue;
      if (dryRun) removed.push(image);
      else if (await this.#remove(image, signal)) {
        await records.forget(id, usedAt);
        removed.push(image);
      }
    }
    return removed;
  }

  /** Removes an image with all its names. False while a container uses it; it may have lost some names then. */
  async #remove({ id, tags, digests }: EngineImage, signal: AbortSignal): Promise<boolean> {
    const { images } = this.#options;
    try {
      // The engine refuses a removal by id for an image with several names.
      for (const name of [...tags, ...digests]) await images.remove(name, signal);
      await images.remove(id, signal);
      return true;
    } catch (error) {
      if (isEngineError(error, 'Conflict')) return false;
      throw error;
    }
  }
}
