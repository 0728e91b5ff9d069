import { stat } from 'node:fs/promises';
import type { EngineClient } from './engine-client.js';
import type { EngineOutages } from './engine-outages.js';

/** A container that ended, with times in milliseconds since the epoch. */
export interface ContainerEnd {
  readonly startedAt: number;
  readonly exitedAt: number;
  readonly exitCode: number | undefined;
}

/** Time between the end of a container by an engine that is restarted, and the start of the next engine. */
const restartMs = 30_000;
/** Exit codes of SIGKILL and SIGTERM, with which an engine ends containers. */
const codesOfStops = [137, 143];

/**
 * Whether a container was ended by a restart of an engine without live-restore. Such an engine ends all containers, so
 * none of its containers is older than itself: one that ended after the start of the engine, or just before it, was ended
 * by the restart. One that ended long before, when the engine may have been stopped for a while, was if its exit code
 * is that of a stop.
 */
export function endedByRestart(end: ContainerEnd, engineStartedAt: number): boolean {
  if (end.startedAt >= engineStartedAt) return false;
  if (end.exitedAt >= engineStartedAt - restartMs) return true;
  return end.exitCode !== undefined && codesOfStops.includes(end.exitCode);
}

/** Finds the containers that a restart of the engine ended, also one that this process did not see. */
export class EngineStarts {
  readonly #engine: EngineClient;
  readonly #outages: EngineOutages;

  constructor(engine: EngineClient, outages: EngineOutages) {
    this.#engine = engine;
    this.#outages = outages;
  }

  /** Whether a restart of the engine ended the container, as far as the engine lets one know. */
  async ended(end: ContainerEnd, signal: AbortSignal): Promise<boolean> {
    if (this.#outages.endedByEngine(end.exitedAt)) return true;
    if (!this.#outages.isEarlier(end.exitedAt)) return false;
    if (await this.#engine.keepsContainers(signal)) return false;
    const startedAt = await this.#startedAt(signal);
    return startedAt !== undefined && endedByRestart(end, startedAt);
  }

  /**
   * The engine does not report its start. It makes its socket at its start, unless the service manager does, and its
   * default bridge, unless it has none.
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
