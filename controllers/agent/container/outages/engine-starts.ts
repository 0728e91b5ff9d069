import { stat } from 'node:fs/promises';
import type { EngineClient } from '../engine/engine-client.js';
import { type ContainerEnd, type EngineOutages, hasCodeOfStop } from './engine-outages.js';

/** A container that ended at most this long before the start of the engine counts as stopped by its restart. */
const restartMs = 30_000;

/**
 * Whether a restart of an engine without live-restore stopped a container. Such an engine stops all containers, so that
 * none of its containers is older than the engine. A container that ended after the start of the engine, or just before
 * it, was stopped by the restart. A container that ended earlier may have been stopped by an engine that stayed down:
 * its exit code decides.
 */
export function endedByRestart(end: ContainerEnd, engineStartedAt: number): boolean {
  if (end.startedAt >= engineStartedAt) return false;
  if (end.exitedAt >= engineStartedAt - restartMs) return true;
  return hasCodeOfStop(end);
}

/** Detects containers that a restart of the engine stopped, including restarts that this process did not observe. */
export class EngineStarts {
  readonly #engine: EngineClient;
  readonly #outages: EngineOutages;

  constructor(engine: EngineClient, outages: EngineOutages) {
    this.#engine = engine;
    this.#outages = outages;
  }

  /**
   * Whether a stop or a restart of the engine ended the container. False for an end that no observed outage explains,
   * if the start time of the engine is unknown.
   * @throws EngineError
   */
  async ended(end: ContainerEnd, signal: AbortSignal): Promise<boolean> {
    if (this.#outages.endedByEngine(end)) return true;
    if (!this.#outages.isEarlier(end.exitedAt)) return false;
    if (await this.#engine.keepsContainers(signal)) return false;
    const startedAt = await engineStartedAt(this.#engine, signal);
    return startedAt !== undefined && endedByRestart(end, startedAt);
  }
}

/**
 * Estimates the start time of the engine, milliseconds since the epoch, because its API does not report it. The
 * engine creates its default bridge and its socket when it starts; the service manager may have created the socket
 * earlier, so the later time counts. Undefined if neither exists.
 * @throws EngineError
 */
export async function engineStartedAt(
  engine: EngineClient,
  signal: AbortSignal,
): Promise<number | undefined> {
  const bridge = await engine.bridgeCreatedAt(signal);
  const socket = await stat(engine.socketPath).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  );
  const known = [bridge, socket].filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
