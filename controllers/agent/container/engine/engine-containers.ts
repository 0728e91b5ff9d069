import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import {
  exitCodeOf,
  inside,
  listOf,
  numberOf,
  objectOf,
  requireNumber,
  requireText,
  tableOf,
  textsOf,
  timeOf,
} from './answer-fields.js';
import type { EngineApi } from './engine-api.js';
import { EngineError, isEngineError, socketError } from './engine-error.js';
import { type ContainerLimits, limitsIn } from './engine-limits.js';
import { type EnginePort, networkAddresses, publishedPorts } from './published-ports.js';
import { FrameSplitter, type StreamPiece } from './stream-frames.js';

/** A container in a list. */
export interface ContainerSummary {
  readonly id: string;
  /** Without the leading slash of the engine. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** `created`, `running`, `exited` and so on. */
  readonly state: string;
  readonly mounts: readonly ContainerMount[];
}

/** The inspected state of one container. Times are milliseconds since the epoch. */
export interface ContainerInspection {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: number;
  /** `created`, `running`, `paused`, `restarting`, `removing`, `exited` or `dead`. */
  readonly state: string;
  /** Pid in the engine's pid namespace; 0 unless the container is running. */
  readonly pid: number;
  readonly exitCode: number;
  readonly outOfMemory: boolean;
  /** The error of the start of the container; empty if it started. */
  readonly error: string;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  /** Id of the image. */
  readonly image: string;
  /** The signal that requests the end of the container. */
  readonly stopSignal: string;
  readonly mounts: readonly ContainerMount[];
  /** The network of the container at its creation: `host`, `none`, `container:ID`, or the name of a network. */
  readonly networkMode: string;
  /** `no`, `always` and so on; empty counts as `no`. */
  readonly restartPolicy: string;
  readonly limits: ContainerLimits;
  /** Addresses by the name of the network. */
  readonly addresses: Readonly<Record<string, string>>;
  /** Empty unless the container is running. */
  readonly published: readonly EnginePort[];
}

/** A mount of a container. */
export interface ContainerMount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/** The lines of a log to read. Times are seconds since the epoch with a fraction, as in the Engine API. */
export interface LogQuery {
  readonly follow: boolean;
  readonly since?: string;
  readonly until?: string;
  /** Number of the last frames to read; all if undefined. */
  readonly tail?: number;
}

/** Time limit of a call in addition to its grace period, milliseconds. */
const afterGraceMs = 30_000;

/** `/containers` of the engine. Failed calls reject with {@link EngineError}. */
export class EngineContainers {
  readonly #api: EngineApi;

  constructor(api: EngineApi) {
    this.#api = api;
  }

  /**
   * Creates a container and returns its id.
   * @param config in the form of the Engine API
   * @throws EngineError NotFound if its image is missing, Conflict if the name is taken
   */
  async create(name: string, config: JsonObject, signal: AbortSignal): Promise<string> {
    const path = '/containers/create';
    const answer = await this.#api.call({
      method: 'POST',
      path,
      query: { name },
      body: config,
      signal,
    });
    return requireText(objectOf(answer, path), 'Id');
  }

  /** Starts a container; no-op if it runs. @throws EngineError with the reason if it can't be started, or Timeout */
  async start(id: string, signal: AbortSignal, timeoutMs = 120_000): Promise<void> {
    await this.#post(id, 'start', signal, {}, timeoutMs);
  }

  /** Sets the restart policy `no`: the engine does not start the container again. */
  async neverRestart(id: string, signal: AbortSignal): Promise<void> {
    await this.#api.call({
      method: 'POST',
      path: `/containers/${encodeURIComponent(id)}/update`,
      body: { RestartPolicy: { Name: 'no' } },
      signal,
    });
  }

  /** Sends a signal. False if the container is not running or does not exist. */
  async kill(id: string, name: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#post(id, 'kill', signal, { signal: name });
      return true;
    } catch (error) {
      if (isEngineError(error, 'Conflict', 'NotFound')) return false;
      throw error;
    }
  }

  /** Requests the end of the container, kills it after the grace period, and returns when it has ended. */
  async stop(id: string, graceSeconds: number, signal: AbortSignal): Promise<void> {
    const timeoutMs = graceSeconds * 1_000 + afterGraceMs;
    await this.#post(id, 'stop', signal, { t: graceSeconds }, timeoutMs);
  }

  /**
   * Waits for the end of the container, and returns its exit code. The caller sets the deadline. @throws EngineError
   * Broken if the engine reports no exit code
   */
  async wait(id: string, signal: AbortSignal): Promise<number> {
    const stream = await this.#api.stream({
      method: 'POST',
      path: `/containers/${encodeURIComponent(id)}/wait`,
      query: { condition: 'not-running' },
      signal,
    });
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of stream.body as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch (error) {
      throw stream.failure() ?? socketError(this.#api.socketPath, error as NodeJS.ErrnoException);
    }
    try {
      return requireNumber(
        objectOf(JSON.parse(String(Buffer.concat(chunks))), 'wait'),
        'StatusCode',
      );
    } catch (cause) {
      throw new EngineError('Broken', 'the engine reported no exit code of a container', { cause });
    }
  }

  /** Returns the state of a container; undefined if it does not exist. */
  async inspect(id: string, signal: AbortSignal): Promise<ContainerInspection | undefined> {
    const path = `/containers/${encodeURIComponent(id)}/json`;
    try {
      return inspectionOf(objectOf(await this.#api.call({ method: 'GET', path, signal }), path));
    } catch (error) {
      if (isEngineError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** All containers with the given labels, `name` or `name=value`, in any state. */
  async list(labels: readonly string[], signal: AbortSignal): Promise<readonly ContainerSummary[]> {
    const path = '/containers/json';
    const query = { all: true, filters: JSON.stringify({ label: labels }) };
    const answer = await this.#api.call({ method: 'GET', path, query, signal });
    return listOf(answer, path).map((item) => {
      const [name = ''] = textsOf(item, 'Names');
      return {
        id: requireText(item, 'Id'),
        name: name.replace(/^\//, ''),
        labels: tableOf(item, 'Labels'),
        state: textOf(item, 'State'),
        mounts: mountsOf(item),
      };
    });
  }

  /**
   * Removes a container with its anonymous volumes; no-op if it does not exist or is being removed.
   * @throws EngineError Conflict if it is running, unless `force` is true
   */
  async remove(id: string, signal: AbortSignal, { force = false } = {}): Promise<void> {
    try {
      await this.#api.call({
        method: 'DELETE',
        path: `/containers/${encodeURIComponent(id)}`,
        query: { force, v: true },
        signal,
        timeoutMs: 120_000,
      });
    } catch (error) {
      if (isEngineError(error, 'NotFound')) return;
      if (isEngineError(error, 'Conflict') && /already in progress/.test(String(error))) return;
      throw error;
    }
  }

  /**
   * The output of a container. Each frame is `<RFC 3339 with nanoseconds> <text>`.
   * @throws EngineError NotFound if the container does not exist
   */
  async *logs(id: string, query: LogQuery, signal: AbortSignal): AsyncGenerator<StreamPiece> {
    const { follow, since, until, tail } = query;
    const stream = await this.#api.stream({
      method: 'GET',
      path: `/containers/${encodeURIComponent(id)}/logs`,
      query: {
        stdout: true,
        stderr: true,
        timestamps: true,
        follow,
        since,
        until,
        tail: tail ?? 'all',
      },
      signal,
    });
    const splitter = new FrameSplitter();
    try {
      for await (const chunk of stream.body as AsyncIterable<Buffer>) yield* splitter.split(chunk);
      splitter.end();
    } catch (error) {
      const ended = stream.failure();
      if (ended !== undefined) throw ended;
      if (error instanceof EngineError) throw error;
      throw socketError(this.#api.socketPath, error as NodeJS.ErrnoException);
    } finally {
      stream.close();
    }
  }

  async #post(
    id: string,
    verb: string,
    signal: AbortSignal,
    query: Readonly<Record<string, string | number>> = {},
    timeoutMs?: number,
  ): Promise<void> {
    await this.#api.call({
      method: 'POST',
      path: `/containers/${encodeURIComponent(id)}/${verb}`,
      query,
      signal,
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
  }
}

function inspectionOf(answer: JsonObject): ContainerInspection {
  const state = inside(answer, 'State');
  return {
    id: requireText(answer, 'Id'),
    name: textOf(answer, 'Name').replace(/^\//, ''),
    labels: tableOf(inside(answer, 'Config'), 'Labels'),
    createdAt: timeOf(answer, 'Created') ?? 0,
    state: requireText(state, 'Status'),
    pid: numberOf(state, 'Pid'),
    exitCode: exitCodeOf(state),
    outOfMemory: state.OOMKilled === true,
    error: textOf(state, 'Error'),
    startedAt: timeOf(state, 'StartedAt'),
    finishedAt: timeOf(state, 'FinishedAt'),
    image: textOf(answer, 'Image'),
    stopSignal: textOf(inside(answer, 'Config'), 'StopSignal') || 'SIGTERM',
    mounts: mountsOf(answer),
    networkMode: textOf(inside(answer, 'HostConfig'), 'NetworkMode'),
    restartPolicy: textOf(inside(inside(answer, 'HostConfig'), 'RestartPolicy'), 'Name'),
    limits: limitsIn(inside(answer, 'HostConfig')),
    addresses: networkAddresses(inside(inside(answer, 'NetworkSettings'), 'Networks')),
    published: publishedPorts(inside(inside(answer, 'NetworkSettings'), 'Ports')),
  };
}

function mountsOf(answer: JsonObject): readonly ContainerMount[] {
  const mounts = Array.isArray(answer.Mounts) ? (answer.Mounts as readonly unknown[]) : [];
  return mounts.filter(isJsonObject).map((mount) => ({
    source: textOf(mount, 'Source'),
    target: textOf(mount, 'Destination'),
    readOnly: mount.RW === false,
  }));
}
