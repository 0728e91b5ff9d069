import { messageOf } from 'kedge';
import type { EngineImage, EngineImages, ImageProgress } from './engine/engine-images.js';
import type { RegistryCredentials } from './engine/registry-auth.js';
import { imageName, type ImageReference, parseImage } from '../../service/image/image-reference.js';

/** When to pull an image: if the node does not have it, at each start, or never. */
export type ImagePull = 'missing' | 'always' | 'never';

/** Dependencies of {@link Images}. */
export interface ImagesOptions {
  readonly images: EngineImages;
  /** The credentials of a registry, resolved at each pull. */
  readonly credentialsOf: (image: ImageReference) => Promise<RegistryCredentials | undefined>;
}

interface Pull {
  readonly done: Promise<EngineImage>;
  readonly watchers: Set<(text: string) => void>;
}

/** Pulls images onto this node; all workloads that wait for an image share one pull. */
export class Images {
  readonly #options: ImagesOptions;
  readonly #pulls = new Map<string, Pull>();

  constructor(options: ImagesOptions) {
    this.#options = options;
  }

  /**
   * The image, pulled according to the policy.
   * @param onProgress called with the progress of the pull
   * @param signal ends the pull for all its callers: it is the signal of the runtime
   * @throws Error with the remedy
   */
  async provide(
    text: string,
    policy: ImagePull,
    onProgress: (text: string) => void,
    signal: AbortSignal,
  ): Promise<EngineImage> {
    const reference = parseImage(text);
    if (!reference) throw new Error(`"${text}" is not a valid image reference`);
    const name = imageName(reference);
    const found = await this.#options.images.inspect(name, signal);
    if (found && (policy !== 'always' || reference.isDigest)) return found;
    if (policy === 'never')
      throw new Error(
        `image ${name} is not on this node and imagePull is never; load it, or use imagePull missing`,
      );
    let pull = this.#pulls.get(name);
    if (!pull) {
      const watchers = new Set<(text: string) => void>();
      const done = this.#pull(name, reference, watchers, signal).finally(() =>
        this.#pulls.delete(name),
      );
      pull = { done, watchers };
      this.#pulls.set(name, pull);
    }
    pull.watchers.add(onProgress);
    try {
      return await pull.done;
    } finally {
      pull.watchers.delete(onProgress);
    }
  }

  async #pull(
    name: string,
    reference: ImageReference,
    watchers: ReadonlySet<(text: string) => void>,
    signal: AbortSignal,
  ): Promise<EngineImage> {
    const { credentialsOf, images } = this.#options;
    const { repository, version } = reference;
    const progress = new PullProgress(name);
    try {
      const credentials = await credentialsOf(reference);
      for await (const step of images.pull({ repository, version, credentials }, signal)) {
        const text = progress.told(step);
        if (text !== undefined) for (const watcher of watchers) watcher(text);
      }
    } catch (cause) {
      throw new Error(`image ${name} can't be pulled: ${messageOf(cause)}`, { cause });
    }
    const image = await images.inspect(name, signal);
    if (!image) throw new Error(`image ${name} was pulled, but was removed again`);
    return image;
  }
}

const layersMax = 1_000;

/** Progress of a pull over all its layers. */
class PullProgress {
  readonly #name: string;
  readonly #layers = new Map<string, { readonly current: number; readonly total: number }>();
  #told = '';

  constructor(name: string) {
    this.#name = name;
  }

  /** The text to report; undefined if it is unchanged. */
  told({ layer, text, currentBytes, totalBytes }: ImageProgress): string | undefined {
    if (text === 'Downloading' && totalBytes > 0 && this.#layers.size < layersMax)
      this.#layers.set(layer, { current: currentBytes, total: totalBytes });
    let current = 0;
    let total = 0;
    for (const size of this.#layers.values()) {
      current += size.current;
      total += size.total;
    }
    // Rounded down to steps of 10 %, because each text is written into the status of the instance.
    const percent = total === 0 ? 0 : Math.floor((current / total) * 10) * 10;
    const told = `pulling image ${this.#name}${total === 0 ? '' : `, ${percent} %`}`;
    if (told === this.#told) return undefined;
    this.#told = told;
    return told;
  }
}
