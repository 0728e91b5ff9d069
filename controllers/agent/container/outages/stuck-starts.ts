import type { Clock, Logger } from 'kedge';
import { type ControllerPolicy, defaultPolicy } from '../../../policy/policy.js';
import type { ContainerRecords } from '../container-records.js';
import { isEngineError } from '../engine/engine-error.js';
import { killUnrecorded } from '../engine/unrecorded-processes.js';
import type { FoundRun } from '../run-identity.js';

/** Time without an answer for a container after which the processes of its start are killed, as a part of its limit. */
const unansweredPart = 0.5;

/** Dependencies of {@link StuckStarts}. */
export interface StuckStartsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly records: ContainerRecords;
  /** The runs of a workload by the list of the engine, which it answers also if a call for one container hangs. */
  readonly runs: (id: string) => Promise<readonly FoundRun[]>;
  /** Default: the policy of an unconfigured daemon. */
  readonly policy?: ControllerPolicy | undefined;
  /** Default: {@link killUnrecorded}. */
  readonly kill?: (container: string) => Promise<readonly number[]>;
}

/**
 * Frees an engine that hangs in a start. An engine that was killed during a start may wait later, without a limit, for
 * the processes that this start left. Meanwhile it answers no call for that container, so it can't be asked to kill
 * them. It continues when they end.
 */
export class StuckStarts {
  readonly #options: StuckStartsOptions;
  /** Since when the engine does not answer for a container, on the monotonic clock, by workload. */
  readonly #since = new Map<string, { readonly run: number; readonly at: number }>();

  constructor(options: StuckStartsOptions) {
    this.#options = options;
  }

  /**
   * Awaits a call for the container of a run. If the engine does not answer calls for it for half of the time limit of a
   * start, kills the processes of that run, provided that no outcome of its start is recorded and the engine lists its
   * container as created. The call rejects in any case, so that the caller retries it.
   * @throws UnrecordedProcesses if a process can't be killed; errors of the call
   */
  async during<T>(id: string, run: number, call: () => Promise<T>): Promise<T> {
    const { clock, policy = defaultPolicy } = this.#options;
    const begun = clock.monotonic();
    try {
      const answer = await call();
      this.forget(id);
      return answer;
    } catch (error) {
      if (!isEngineError(error, 'Timeout')) {
        this.forget(id);
        throw error;
      }
      const known = this.#since.get(id);
      const at = known?.run === run ? known.at : begun;
      this.#since.set(id, { run, at });
      if (clock.monotonic() - at >= policy.containerStartTimeoutMs * unansweredPart)
        await this.#end(id, run);
      throw error;
    }
  }

  /** Forgets a workload. */
  forget(id: string): void {
    this.#since.delete(id);
  }

  async #end(id: string, run: number): Promise<void> {
    const { kill = killUnrecorded, logger, records, runs } = this.#options;
    if ((await records.unsettledRun(id)) !== run) return;
    // Listed again: the start may have ended during the call.
    for (const found of await runs(id)) {
      if (found.run !== run || found.state !== 'created') continue;
      const pids = await kill(found.container);
      if (pids.length > 0)
        logger.warn('killed processes of a start that the container engine does not continue', {
          instance: id,
          container: found.container.slice(0, 12),
          pids: pids.join(' '),
        });
    }
  }
}
