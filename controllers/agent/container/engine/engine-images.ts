import type { Readable } from 'node:stream';
import { type JsonObject, textOf } from 'kedge/rpc';
import {
  inside,
  listOf,
  numberOf,
  objectOf,
  requireText,
  tableOf,
  textsOf,
} from './answer-fields.js';
import type { EngineApi } from './engine-api.js';
import { EngineError, isEngineError } from './engine-error.js';
import { jsonLines } from './json-lines.js';
import { type RegistryCredentials, registryAuthHeader } from './registry-auth.js';

/** An image that the engine has. */
export interface EngineImage {
  /** Digest of its configuration, `sha256:...`. */
  readonly id: string;
  /** Tags of the image, such as `redis:7`. */
  readonly tags: readonly string[];
  /** Digests of the image, `<repository>@sha256:...`; none if it did not come from a registry. */
  readonly digests: readonly string[];
  readonly sizeBytes: number;
  /** Seconds since the epoch. */
  readonly createdAt: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** A progress message of a pull or a load. */
export interface ImageProgress {
  /** Id of the layer; empty for the image. */
  readonly layer: string;
  readonly text: string;
  readonly currentBytes: number;
  readonly totalBytes: number;
}

/** The request of a pull. */
export interface PullRequest {
  /** Repository, with the host if the reference names it, without tag and digest. */
  readonly repository: string;
  /** Tag or digest. */
  readonly version: string;
  readonly credentials?: RegistryCredentials | undefined;
}

/** Idle timeout of a pull or load: the engine must report progress within it. */
const idleMs = 300_000;
/** Time limit until the answer of a load begins, which is after the whole tar archive was received. */
const loadStartMs = 12 * 3_600_000;
/** Time limit until the answer of a pull begins, which waits for the registry. */
const pullStartMs = 120_000;

/** Deadline of a list for a caller: below that of its request, 30 s, so that the caller learns the cause. */
const listMs = 20_000;
/** Deadline of a list that is part of other work, which may keep the engine busy. */
const innerListMs = 300_000;

/** `/images` of the engine. Failed calls reject with {@link EngineError}. */
export class EngineImages {
  readonly #api: EngineApi;

  constructor(api: EngineApi) {
    this.#api = api;
  }

  /** The image of a name, digest or id; undefined if the engine does not have it. */
  async inspect(reference: string, signal: AbortSignal): Promise<EngineImage | undefined> {
    const path = `/images/${encodeURIComponent(reference)}/json`;
    try {
      const answer = objectOf(await this.#api.call({ method: 'GET', path, signal }), path);
      const createdAt = Math.floor(Date.parse(textOf(answer, 'Created')) / 1_000) || 0;
      return imageOf(answer, createdAt, tableOf(inside(answer, 'Config'), 'Labels'));
    } catch (error) {
      if (isEngineError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /**
   * All images except intermediate ones.
   * @param isWaiting whether a caller waits for just this list
   */
  async list(signal: AbortSignal, isWaiting = false): Promise<readonly EngineImage[]> {
    const path = '/images/json';
    const timeoutMs = isWaiting ? listMs : innerListMs;
    const answer = await this.#api.call({ method: 'GET', path, signal, timeoutMs });
    return listOf(answer, path).map((item) =>
      imageOf(item, numberOf(item, 'Created'), tableOf(item, 'Labels')),
    );
  }

  /**
   * Pulls from a registry and reports progress. Ends when the image is available.
   * @throws EngineError with the registry's message
   */
  async *pull(request: PullRequest, signal: AbortSignal): AsyncGenerator<ImageProgress> {
    const { repository, version, credentials } = request;
    const stream = await this.#api.stream({
      method: 'POST',
      path: '/images/create',
      query: { fromImage: repository, tag: version },
      headers: registryAuthHeader(credentials),
      signal,
      timeoutMs: pullStartMs,
    });
    for await (const line of jsonLines(stream, this.#api.socketPath, idleMs)) {
      requireNoError(line);
      yield progressOf(line);
    }
  }

  /**
   * Loads images from a tar of `docker save`. Returns their names, or ids if they have none.
   * @throws EngineError with the engine's message, and for an archive without images
   */
  async load(
    tar: Readable,
    signal: AbortSignal,
    onProgress: (progress: ImageProgress) => void = () => undefined,
  ): Promise<readonly string[]> {
    const stream = await this.#api.stream({
      method: 'POST',
      path: '/images/load',
      query: { quiet: false },
      headers: { 'Content-Type': 'application/x-tar' },
      body: tar,
      signal,
      timeoutMs: loadStartMs,
    });
    const loaded: string[] = [];
    for await (const line of jsonLines(stream, this.#api.socketPath, idleMs)) {
      requireNoError(line);
      const [, name] = /^Loaded image(?: ID)?: (\S+)$/.exec(textOf(line, 'stream').trim()) ?? [];
      if (name !== undefined) loaded.push(name);
      else if (textOf(line, 'status') !== '') onProgress(progressOf(line));
    }
    if (loaded.length === 0)
      throw new EngineError(
        'Failed',
        'the tar archive contains no image; create it with docker save',
      );
    return loaded;
  }

  /**
   * Creates an image with one layer from a tar archive, and returns its id.
   * @throws EngineError with the engine's message; Malformed without an id
   */
  async importTar(
    tar: Readable,
    repository: string,
    tag: string,
    signal: AbortSignal,
  ): Promise<string> {
    const stream = await this.#api.stream({
      method: 'POST',
      path: '/images/create',
      query: { fromSrc: '-', repo: repository, tag },
      body: tar,
      signal,
      timeoutMs: idleMs,
    });
    let id = '';
    for await (const line of jsonLines(stream, this.#api.socketPath, idleMs)) {
      requireNoError(line);
      id = /^sha256:[0-9a-f]{64}$/.exec(textOf(line, 'status'))?.[0] ?? id;
    }
    if (id === '')
      throw new EngineError('Malformed', 'the engine reports no id of an imported image');
    return id;
  }

  /**
   * Removes a name, and with its last name the image. False if the name does not exist.
   * @throws EngineError Conflict while a container uses it, or for the id of an image with several names
   */
  async remove(reference: string, signal: AbortSignal): Promise<boolean> {
    const path = `/images/${encodeURIComponent(reference)}`;
    try {
      await this.#api.call({ method: 'DELETE', path, signal, timeoutMs: 120_000 });
      return true;
    } catch (error) {
      if (isEngineError(error, 'NotFound')) return false;
      throw error;
    }
  }
}

/** Throws the error that an answer with a success status reports in its stream. */
function requireNoError(line: JsonObject): void {
  const text = textOf(inside(line, 'errorDetail'), 'message') || textOf(line, 'error');
  if (text === '') return;
  // The last one is an archive without a list of images, also an empty one.
  const isDamaged =
    /Error processing tar file|unexpected EOF|invalid tar header|docker-import-[^:]*: no such file/.test(
      text,
    );
  const remedy = isDamaged ? '; create the archive with docker save' : '';
  throw new EngineError('Failed', `${text}${remedy}`);
}

function progressOf(line: JsonObject): ImageProgress {
  const detail = inside(line, 'progressDetail');
  return {
    layer: textOf(line, 'id'),
    text: textOf(line, 'status'),
    currentBytes: numberOf(detail, 'current'),
    totalBytes: numberOf(detail, 'total'),
  };
}

function imageOf(
  answer: JsonObject,
  createdAt: number,
  labels: Readonly<Record<string, string>>,
): EngineImage {
  return {
    id: requireText(answer, 'Id'),
    // The engine's placeholder for an absent name.
    tags: textsOf(answer, 'RepoTags').filter((tag) => tag !== '<none>:<none>'),
    digests: textsOf(answer, 'RepoDigests').filter((digest) => digest !== '<none>@<none>'),
    sizeBytes: numberOf(answer, 'Size'),
    createdAt,
    labels,
  };
}
