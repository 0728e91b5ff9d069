import type { Clock } from 'kedge';
import { type JsonObject, textOf } from 'kedge/rpc';
import { inside, numberOf, objectOf, requireText, tableOf, timeOf } from './answer-fields.js';
import { EngineApi } from './engine-api.js';
import type { EngineVersion } from './api-window.js';
import { EngineContainers } from './engine-containers.js';
import { isEngineError } from './engine-error.js';
import { EngineExec } from './engine-exec.js';
import type { ContainerLimits } from './engine-limits.js';
import { EngineImages } from './engine-images.js';
import { jsonLines } from './json-lines.js';

/** An event of the engine. */
export interface EngineEvent {
  /** `container`, `image`, `network` and so on. */
  readonly type: string;
  /** `start`, `die`, `oom` and so on. */
  readonly action: string;
  readonly id: string;
  /** Milliseconds since the epoch by the clock of the engine; undefined if the engine reports no time. */
  readonly at: number | undefined;
  /** Labels and other attributes of the object. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** A network of the engine. */
export interface EngineNetwork {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The limits, each with the field of the answer of `/info` that is false if the engine does not support it. */
const limitSupport = [
  ['cpuMillis', 'CpuCfsQuota'],
  ['cpuShares', 'CPUShares'],
  ['memoryBytes', 'MemoryLimit'],
  ['memoryAndSwapBytes', 'SwapLimit'],
  ['pids', 'PidsLimit'],
] as const;

/** Dependencies of {@link EngineClient}. */
export interface EngineClientOptions {
  /** Unix socket of the engine. */
  readonly socketPath: string;
  readonly clock: Clock;
  /** Called with the engine's data directory (DockerRootDir) whenever the engine reports it. */
  readonly onRootDirectory?: (path: string) => void;
}

/**
 * Client of the Docker Engine API over its unix socket, limited to the calls that run workloads. Calls have deadlines
 * and bounds for their answers, and end with the caller's signal. Failures are {@link EngineError}s with the engine's
 * message.
 */
export class EngineClient {
  readonly containers: EngineContainers;
  readonly images: EngineImages;
  readonly exec: EngineExec;
  readonly #api: EngineApi;
  readonly #onRootDirectory: (path: string) => void;
  /** The information about the kernel, until a new connection for events: it may be to another engine. */
  #kernel: JsonObject | undefined;

  constructor({ socketPath, clock, onRootDirectory = () => undefined }: EngineClientOptions) {
    this.#onRootDirectory = onRootDirectory;
    this.#api = new EngineApi(socketPath, clock);
    this.containers = new EngineContainers(this.#api);
    this.images = new EngineImages(this.#api);
    this.exec = new EngineExec(this.#api);
  }

  /** The path of the socket. */
  get socketPath(): string {
    return this.#api.socketPath;
  }

  /** See {@link EngineApi.version}. */
  version(signal: AbortSignal, timeoutMs?: number): Promise<EngineVersion> {
    return this.#api.version(signal, timeoutMs);
  }

  /** The directory in which the engine keeps its images, on its machine. */
  async rootDirectory(signal: AbortSignal): Promise<string> {
    return requireText(await this.#info(signal), 'DockerRootDir');
  }

  /** Whether containers keep running while the engine is restarted (live-restore). */
  async keepsContainers(signal: AbortSignal): Promise<boolean> {
    this.#kernel = undefined;
    return (await this.#info(signal)).LiveRestoreEnabled === true;
  }

  /** The limits of containers that the kernel of the engine's machine does not support. */
  async unsupportedLimits(signal: AbortSignal): Promise<readonly (keyof ContainerLimits)[]> {
    const info = (this.#kernel ??= await this.#info(signal));
    return limitSupport.flatMap(([field, name]) => (info[name] === false ? [field] : []));
  }

  async #info(signal: AbortSignal): Promise<JsonObject> {
    const path = '/info';
    const info = objectOf(await this.#api.call({ method: 'GET', path, signal }), path);
    const directory = textOf(info, 'DockerRootDir');
    if (directory !== '') this.#onRootDirectory(directory);
    return info;
  }

  /**
   * Container events from now on. They are hints, because events without a listener are lost. `onOpen` is called once
   * all later events are received. Ends if the engine stops gracefully.
   * @throws EngineError Cancelled when the signal aborts, Broken if the connection breaks
   */
  async *events(signal: AbortSignal, onOpen: () => void): AsyncGenerator<EngineEvent> {
    const query = { filters: JSON.stringify({ type: ['container'] }) };
    yield* this.#events(query, signal, onOpen);
  }

  /**
   * Whether the engine reports an event of a container with one action. The answer is known at `untilMs`, milliseconds
   * since the epoch, which may be later than now, or at the first event. Engines keep few events, and lose them when
   * they stop.
   */
  async hasEvent(
    container: string,
    action: string,
    { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number },
    signal: AbortSignal,
  ): Promise<boolean> {
    const filters = { type: ['container'], container: [container], event: [action] };
    const seconds = (ms: number): string => (ms / 1_000).toFixed(3);
    const query = {
      filters: JSON.stringify(filters),
      ...{ since: seconds(sinceMs), until: seconds(untilMs) },
    };
    for await (const event of this.#events(query, signal))
      if (event.action === action && event.id === container) return true;
    return false;
  }

  async *#events(
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
    onOpen: () => void = () => undefined,
  ): AsyncGenerator<EngineEvent> {
    const stream = await this.#api.stream({ method: 'GET', path: '/events', query, signal });
    onOpen();
    for await (const line of jsonLines(stream, this.#api.socketPath)) {
      const actor = inside(line, 'Actor');
      yield {
        type: textOf(line, 'Type'),
        action: textOf(line, 'Action'),
        id: textOf(actor, 'ID'),
        at: Math.floor(numberOf(line, 'timeNano') / 1e6) || undefined,
        attributes: tableOf(actor, 'Attributes'),
      };
    }
  }

  /** A network by name or id; undefined if it does not exist. */
  async networkNamed(name: string, signal: AbortSignal): Promise<EngineNetwork | undefined> {
    const path = `/networks/${encodeURIComponent(name)}`;
    try {
      const answer = objectOf(await this.#api.call({ method: 'GET', path, signal }), path);
      return { id: requireText(answer, 'Id'), labels: tableOf(answer, 'Labels') };
    } catch (error) {
      if (isEngineError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** Creation time of the default bridge, milliseconds since the epoch; undefined if the engine has none. */
  async bridgeCreatedAt(signal: AbortSignal): Promise<number | undefined> {
    const path = '/networks/bridge';
    try {
      const answer = await this.#api.call({ method: 'GET', path, signal });
      return timeOf(objectOf(answer, path), 'Created');
    } catch (error) {
      if (isEngineError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /**
   * Creates a bridge network and returns its id. Concurrent calls may create two networks with one name, unless the
   * engine checks for duplicates.
   */
  async createBridge(
    name: string,
    labels: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<string> {
    const path = '/networks/create';
    const body = { Name: name, Driver: 'bridge', CheckDuplicate: true, Labels: labels };
    return requireText(
      objectOf(await this.#api.call({ method: 'POST', path, body, signal }), path),
      'Id',
    );
  }

  /** Removes a network; no-op if it does not exist. @throws EngineError Unauthorized while it has containers */
  async removeNetwork(id: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#api.call({
        method: 'DELETE',
        path: `/networks/${encodeURIComponent(id)}`,
        signal,
      });
    } catch (error) {
      if (!isEngineError(error, 'NotFound')) throw error;
    }
  }
}
