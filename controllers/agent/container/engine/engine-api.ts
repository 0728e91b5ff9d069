import type { Clock } from 'kedge';
import { textOf } from 'kedge/rpc';
import { objectOf, requireText } from './answer-fields.js';
import { commonVersion, type EngineVersion } from './api-window.js';
import { isEngineError } from './engine-error.js';
import {
  type EngineCall,
  type EngineConnection,
  type EngineStream,
  EngineTransport,
} from './engine-transport.js';

/** Deadline for reading the version before a call, in addition to that of the call. */
const versionMs = 20_000;

/** A call without the version in its path. */
export type ApiCall = EngineCall;

/**
 * Calls of the engine in the newest version of its API that both sides support. Failed calls reject with {@link
 * EngineError}.
 */
export class EngineApi {
  readonly #transport: EngineTransport;
  /** Path prefix of the API version; read again after the engine was unavailable. */
  #prefix: string | undefined;

  constructor(socketPath: string, clock: Clock) {
    this.#transport = new EngineTransport(socketPath, clock);
  }

  get socketPath(): string {
    return this.#transport.socketPath;
  }

  /**
   * Reads the version of the engine, and uses the newest common version for later calls.
   * @throws EngineError also Unsupported if there is no common version
   */
  async version(signal: AbortSignal, timeoutMs?: number): Promise<EngineVersion> {
    const answer = objectOf(
      await this.#transport.call({
        method: 'GET',
        path: '/version',
        signal,
        ...(timeoutMs !== undefined && { timeoutMs }),
      }),
      'version',
    );
    const version = {
      version: textOf(answer, 'Version') || 'of an unknown version',
      apiVersion: requireText(answer, 'ApiVersion'),
      minApiVersion: textOf(answer, 'MinAPIVersion') || requireText(answer, 'ApiVersion'),
    };
    this.#prefix = `/v${commonVersion(version)}`;
    return version;
  }

  /** See {@link EngineTransport.call}. */
  call(call: ApiCall): Promise<unknown> {
    return this.#versioned(call, (versioned) => this.#transport.call(versioned));
  }

  /** See {@link EngineTransport.stream}. */
  stream(call: ApiCall): Promise<EngineStream> {
    return this.#versioned(call, (versioned) => this.#transport.stream(versioned));
  }

  /** See {@link EngineTransport.upgrade}. */
  upgrade(call: ApiCall): Promise<EngineConnection> {
    return this.#versioned(call, (versioned) => this.#transport.upgrade(versioned));
  }

  async #versioned<T>(call: ApiCall, send: (call: EngineCall) => Promise<T>): Promise<T> {
    if (this.#prefix === undefined) await this.version(call.signal, versionMs);
    try {
      return await send({ ...call, path: `${this.#prefix ?? ''}${call.path}` });
    } catch (error) {
      // The engine may have been replaced by one of another version.
      if (isEngineError(error, 'Unreachable', 'Broken', 'Timeout')) this.#prefix = undefined;
      throw error;
    }
  }
}
