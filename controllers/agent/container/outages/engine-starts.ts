import { stat } from 'node:fs/promises';
import type { Boot } from '../../runtime/boot.js';
import type { ContainerRecords } from '../container-records.js';
import type { EngineClient } from '../engine/engine-client.js';
import type { RunIdentity } from '../run-identity.js';
import { type ContainerEnd, type EngineOutages, hasCodeOfStop } from './engine-outages.js';

/** A container that ended at most this long before the start of the engine counts as stopped by its restart. */
const restartMs = 30_000;
/**
 * A container of an earlier boot that ended at most this long before the present one counts as stopped by the shutdown.
 */
const shutdownMs = 120_000;
/** The exit code that an engine gives to a container whose end it did not see, such as after a power failure. */
const codeOfUnseenEnd = 255;

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

/**
 * Whether a reboot of the machine ended a container that was started before it. Engines with live-restore also lose
 * their containers then.
 * @param bootedAt start of the kernel, milliseconds since the epoch
 */
export function endedByReboot(end: ContainerEnd, bootedAt: number): boolean {
  // The clock of a machine may be wrong until it is set from the network, so the exit code counts too.
  return (
    end.exitedAt >= bootedAt - shutdownMs || hasCodeOfStop(end) || end.exitCode === codeOfUnseenEnd
  );
}

/** Dependencies of {@link EngineStarts}. */
export interface EngineStartsOptions {
  readonly engine: EngineClient;
  readonly outages: EngineOutages;
  readonly records: ContainerRecords;
  readonly boot: () => Promise<Boot>;
}

/**
 * Detects containers that a restart of the engine or of the machine stopped, including restarts that this process did
 * not observe.
 */
export class EngineStarts {
  readonly #options: EngineStartsOptions;

  constructor(options: EngineStartsOptions) {
    this.#options = options;
  }

  /**
   * The cause of the end of the container of a run: a stop or a restart of the engine, or a reboot of the machine.
   * Undefined for another cause, and for one that only the start time of the engine shows if that is unknown.
   * @throws EngineError
   */
  async ended(
    { id, run }: Pick<RunIdentity, 'id' | 'run'>,
    end: ContainerEnd,
    signal: AbortSignal,
  ): Promise<'engine' | 'machine' | undefined> {
    const { engine, outages } = this.#options;
    // First: no container survives a reboot, while a clock that was set back leaves its end in the future.
    if (await this.#endedByReboot({ id, run }, end)) return 'machine';
    if (outages.endedByEngine(end)) return 'engine';
    if (!outages.isEarlier(end.exitedAt)) return undefined;
    if (await engine.keepsContainers(signal)) return undefined;
    const startedAt = await engineStartedAt(engine, signal);
    return startedAt !== undefined && endedByRestart(end, startedAt) ? 'engine' : undefined;
  }

  async #endedByReboot(
    { id, run }: Pick<RunIdentity, 'id' | 'run'>,
    end: ContainerEnd,
  ): Promise<boolean> {
    const { records, boot } = this.#options;
    const startedIn = await records.bootOf(id, run);
    if (startedIn === undefined) return false;
    const present = await boot();
    return startedIn !== present.id && endedByReboot(end, present.startedAt);
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
