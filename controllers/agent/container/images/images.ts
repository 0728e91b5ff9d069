import { type Clock, messageOf } from 'kedge';
import {
  imageName,
  type ImageReference,
  parseImage,
} from '../../../service/image/image-reference.js';
import type { EngineImage, EngineImages } from '../engine/engine-images.js';
import { digestOf } from './image-digest.js';
import type { ImageRecords } from './image-records.js';
import { PullProgress } from './pull-progress.js';
import { pullRemedy } from './pull-refusal.js';
import type { CredentialsOf, FoundCredentials } from './registry-credentials.js';
import { imageAbsent, imageRefused, imageRemoved } from '../../../messages/starts.js';

/** The pull policy of an image: if the node does not have it, at each start, or never. */
export type ImagePull = 'missing' | 'always' | 'never';

/** Dependencies of {@link Images}. */
export interface ImagesOptions {
  readonly images: EngineImages;
  readonly clock: Clock;
  /** Default: pulls have no credentials. */
  readonly credentialsOf?: CredentialsOf;
  /** Records of pulled images. Default: none are recorded, so that none are pruned. */
  readonly records?: ImageRecords;
}

/** The request for the image of a workload. */
export interface WantedImage {
  /** The image reference in its service. */
  readonly name: string;
  readonly policy: ImagePull;
  /** The {@link ProvidedImage.digest} of the previous run, or of another instance with the same template. */
  readonly pinned?: string | undefined;
}

/** An image on the node. */
export interface ProvidedImage {
  /** Id in the engine. */
  readonly id: string;
  /** `repository@sha256:...` of its registry; the id of an image without a registry. */
  readonly digest: string;
}

/** The error for an image that can't be provided. The message contains the remedy if one is known. */
export class ImageError extends Error {
  override readonly name = 'ImageError';
}

/** An image to pull. */
interface Sought {
  readonly name: string;
  readonly reference: ImageReference;
  /** Whether it is the content of earlier runs, and not what the service names. */
  readonly isPinned: boolean;
}

interface Pull {
  readonly done: Promise<ProvidedImage>;
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
   * Returns the image, and pulls it if the policy requires it. Policies `missing` and `never` prefer the pinned
   * content, so that a restart of the workload does not run another image because the tag was moved.
   * @param onProgress called with the progress of the pull
   * @param signal ends the pull for all its callers: it is the signal of the runtime
   * @throws ImageError if the image can't be provided; EngineError if the engine does not answer
   */
  async provide(
    { name: text, policy, pinned }: WantedImage,
    onProgress: (text: string) => void,
    signal: AbortSignal,
  ): Promise<ProvidedImage> {
    const wanted = parseImage(text);
    if (!wanted) throw new ImageError(`"${text}" is not a valid image reference`);
    const { images, records, clock } = this.#options;
    if (policy !== 'always' && pinned !== undefined) {
      const found = await images.inspect(pinned, signal);
      if (found) {
        await records?.used(found.id, clock.now());
        return { id: found.id, digest: pinned };
      }
    }
    const fixed = pinned === undefined ? undefined : parseImage(pinned);
    // An image without a registry can't be pulled again by digest, so the name is used.
    const reference = policy === 'missing' && fixed?.isDigest === true ? fixed : wanted;
    const name = imageName(reference);
    const found = await images.inspect(name, signal);
    if (found && (policy !== 'always' || reference.isDigest)) {
      await records?.used(found.id, clock.now());
      return { id: found.id, digest: digestOf(found, name) };
    }
    if (policy === 'never')
      throw new ImageError(
        `${imageAbsent.format({ image: name })}; load it with kedge image load, or use imagePull missing`,
      );
    const isPinned = reference !== wanted;
    return this.#shared({ name, reference, isPinned }, onProgress, signal);
  }

  async #shared(
    sought: Sought,
    onProgress: (text: string) => void,
    signal: AbortSignal,
  ): Promise<ProvidedImage> {
    const { name } = sought;
    let pull = this.#pulls.get(name);
    if (!pull) {
      const watchers = new Set<(text: string) => void>();
      const done = this.#pull(sought, watchers, signal).finally(() => this.#pulls.delete(name));
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
    { name, reference, isPinned }: Sought,
    watchers: ReadonlySet<(text: string) => void>,
    signal: AbortSignal,
  ): Promise<ProvidedImage> {
    const { credentialsOf, images } = this.#options;
    const { repository, version } = reference;
    const progress = new PullProgress(name);
    // Before the pull: a prune may remove an image and its record meanwhile.
    const foreign = await this.#options.records?.unrecorded(
      (await images.list(signal)).map(({ id }) => id),
    );
    let found: FoundCredentials | undefined;
    try {
      found = credentialsOf?.(reference);
      const request = { repository, version, credentials: found?.credentials };
      for await (const step of images.pull(request, signal)) {
        const text = progress.update(step);
        if (text !== undefined) for (const watcher of watchers) watcher(text);
      }
    } catch (cause) {
      const message = messageOf(cause);
      const remedy = pullRemedy(message, reference, found, isPinned);
      throw new ImageError(
        `${imageRefused.format({ image: name })}: ${message}${remedy === '' ? '' : `; ${remedy}`}`,
        { cause },
      );
    }
    const image = await images.inspect(name, signal);
    if (!image) throw new ImageError(imageRemoved.format({ image: name }));
    await this.#record(image, name, foreign);
    return { id: image.id, digest: digestOf(image, name) };
  }

  /** Records a pulled image. Skips an unrecorded image that the engine had before: it may belong to another user. */
  async #record(
    { id }: EngineImage,
    name: string,
    foreign: ReadonlySet<string> | undefined,
  ): Promise<void> {
    const { records, clock } = this.#options;
    if (!records) return;
    if (foreign?.has(id)) return;
    await records.brought(id, name, 'pulled', clock.now());
  }
}
