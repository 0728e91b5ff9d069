import type { Clock } from 'kedge';
import { containerUnkillable } from '../../messages/starts.js';
import { type ControllerPolicy, defaultPolicy } from '../../policy/policy.js';
import { ignoreFullDisk } from '../runtime/full-disk.js';
import type { StopProgress } from '../runtime/runtime.js';
import type { ContainerRecords } from './container-records.js';
import type { ContainerInspection, EngineContainers } from './engine/engine-containers.js';
import type { RunIdentity } from './run-identity.js';

/** Maximum time between SIGKILL and the end of a container, unless the kernel or the engine blocks it. */
const killMsMax = 10_000;

/** Dependencies of {@link ContainerStops}. */
export interface ContainerStopsOptions {
  readonly containers: EngineContainers;
  readonly records: ContainerRecords;
  readonly clock: Clock;
  readonly policy?: ControllerPolicy | undefined;
}

interface Stop {
  readonly run: number;
  /** Time of the stop request on the monotonic clock, milliseconds. */
  readonly askedAt: number;
  /** The last signal that this process has sent. */
  readonly sent: string | undefined;
  /** Time of SIGKILL on the monotonic clock, milliseconds. */
  readonly killedAt: number | undefined;
}

/** Stops in progress. The time of a request is recorded, so that the next daemon process continues the stop. */
export class ContainerStops {
  readonly #options: ContainerStopsOptions;
  readonly #stops = new Map<string, Stop>();

  constructor(options: ContainerStopsOptions) {
    this.#options = options;
  }

  /**
   * Executes the next step of a stop: sends the stop signal, or SIGKILL after the grace period. Returns when to call it
   * again.
   * @throws Error if the container still runs 10 seconds after SIGKILL, or if the request can't be recorded although the
   *   disk is not full
   */
  async advance(
    { id, run }: RunIdentity,
    found: ContainerInspection,
    graceMs: number,
    signal: AbortSignal,
  ): Promise<StopProgress> {
    const { clock, containers, policy = defaultPolicy } = this.#options;
    const known = this.#stops.get(id);
    const stop = known?.run === run ? known : await this.#begin(id, run);
    const now = clock.monotonic();
    const leftMs = stop.askedAt + graceMs - now;
    let next = stop;
    if (stop.killedAt !== undefined) {
      if (now >= stop.killedAt + killMsMax) {
        // Some engines refuse to signal a paused container. A later call finds it running.
        await containers.kill(found.id, 'SIGKILL', signal).catch(() => false);
        throw new Error(
          `${containerUnkillable.format({ container: found.name })}; read the engine's log (journalctl -u docker), or restart the engine`,
        );
      }
    } else if (leftMs <= 0) {
      await containers.kill(found.id, 'SIGKILL', signal);
      next = { ...stop, sent: 'SIGKILL', killedAt: now };
    } else if (stop.sent === undefined) {
      await containers.kill(found.id, found.stopSignal, signal);
      next = { ...stop, sent: found.stopSignal };
    }
    this.#stops.set(id, next);
    const { processPollMs, stoppingProbeMs } = policy;
    return {
      type: 'stopping',
      sent: next.sent,
      checkInMs: leftMs <= 0 ? processPollMs : Math.min(leftMs, stoppingProbeMs),
    };
  }

  /** Forgets the stop of a workload that no longer runs. */
  forget(id: string): void {
    this.#stops.delete(id);
  }

  async #begin(id: string, run: number): Promise<Stop> {
    const { clock, records } = this.#options;
    const before = await records.stopAskedAt(id, run);
    const passedMs = before === undefined ? 0 : Math.max(0, clock.now() - before);
    if (before === undefined)
      // Only later observations of the end need the record. On a full disk a container must stop, too.
      await records.askedToStop(id, run, clock.now()).catch(ignoreFullDisk);
    return { run, askedAt: clock.monotonic() - passedMs, sent: undefined, killedAt: undefined };
  }
}
