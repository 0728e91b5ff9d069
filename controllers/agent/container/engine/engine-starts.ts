import { stat } from 'node:fs/promises';
import type { EngineClient } from './engine-client.js';
import type { EngineOutages } from './engine-outages.js';

/** An ended container, with times in milliseconds since the epoch. */
export interface ContainerEnd {
  readonly startedAt: number;
  readonly exitedAt: number;
  readonly exitCode: number | undefined;
}

/** Maximum time between the end of a container by a restart of the engine, and the start of the next engine. */
const restartMs = 30_000;
/** Exit codes of SIGKILL and SIGTERM, with which an engine stops containers. */
const codesOfStops = [137, 143];

/**
 * Whether a restart of an engine without live-restore stopped a container. Such an engine stops all containers, so that
 * none of its containers is older than the engine. A container that ended after the start of the engine, or just before
 * it, was stopped by the restart. A container that ended earlier may have been stopped by an engine that stayed down:
 * its exit code decides.
 */
export function endedByRestart(end: ContainerEnd, engineStartedAt: number): boolean {
  if (end.startedAt >= engineStartedAt) return false;
  if (end.exitedAt >= engineStartedAt - restartMs) return true;
  return end.exitCode !== undefined && codesOfStops.includes(end.exitCode);
}

/** Detects containers that a restart of the engine stopped, including restarts that this process did not observe. */
export class EngineStarts {
  readonly #engine: EngineClient;
  readonly #outages: EngineOutages;

  constructor(engine: EngineClient, outages: EngineOutages) {
    this.#engine = engine;
    this.#outages = outages;
  }

  /** Whether a restart of the engine stopped the container. False if this can't be determined. */
  async ended(end: ContainerEnd, signal: AbortSignal): Promise<boolean> {
    if (this.#outages.endedByEngine(end.exitedAt)) return true;
    if (!this.#outages.isEarlier(end.exitedAt)) return false;
    if (await this.#engine.keepsContainers(signal)) return false;
    const startedAt = await this.#startedAt(signal);
    return startedAt !== undefined && endedByRestart(end, startedAt);
  }

  /**
   * Estimates the start time of the engine, milliseconds since the epoch, because its API does not report it. The
   * engine creates its default bridge and its socket when it starts; the service manager may have created the socket
   * earlier, so the later time counts. Undefined if neither exists.
   */
  async #startedAt(signal: AbortSignal): Promise<number | undefined> {
    const bridge = await this.#engine.bridgeCreatedAt(signal);
    const socket = await stat(this.#engine.socketPath).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    const known = [bridge, socket].filter((time) => time !== undefined);
    return known.length === 0 ? undefined : Math.max(...known);
  }
}
