import { type Clock, type Logger, messageOf, type Random } from '../base/index.js';
import { LeaderElector, type LeaderElectorOptions } from '../election/index.js';
import type { ObjectStore } from '../store/index.js';
import type { HealthCheck } from './health.js';

/** Election of the one process whose controllers run. Times and names as in {@link LeaderElectorOptions}. */
export interface LeaderElection
  extends Pick<
    LeaderElectorOptions,
    'name' | 'identity' | 'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs'
  > {
  /** Leadership was lost and the manager has stopped: end the process, or start anew. */
  readonly onLost?: () => void;
}

/** What a candidacy needs of its manager. */
interface CandidacyPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly lead: (signal: AbortSignal) => Promise<void>;
  readonly rest: () => Promise<void>;
  readonly lost: () => Promise<void>;
}

/** One manager's part in an election: it leads at most once. */
export class Candidacy {
  readonly elector: LeaderElector;
  readonly store: ObjectStore;
  readonly elected: Promise<void>;
  readonly #election: LeaderElection;
  readonly #ports: CandidacyPorts;
  readonly #withdrawn = new AbortController();
  #stopping = false;
  #tellElected: () => void = () => undefined;
  #run: Promise<void> = Promise.resolve();

  constructor(election: LeaderElection, ports: CandidacyPorts) {
    const { store, clock, random, logger } = ports;
    this.#election = election;
    this.#ports = ports;
    this.elector = new LeaderElector({ ...election, store, clock, random, logger });
    this.store = this.elector.fence();
    this.elected = new Promise((resolve) => (this.#tellElected = resolve));
  }

  start(): void {
    this.#run = this.elector.run(
      { onStartedLeading: (signal) => this.#lead(signal), onStoppedLeading: () => undefined },
      this.#withdrawn.signal,
    );
  }

  /** Ends the work, then gives the lease back. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#withdrawn.abort();
    await this.#run;
  }

  health(): HealthCheck {
    const { healthy, leader, isLeader } = this.elector;
    const others = leader === '' ? 'standby, nobody leads' : `standby, "${leader}" leads`;
    const message = isLeader ? 'leading' : others;
    return {
      name: `election ${this.#election.name}`,
      healthy,
      message: healthy ? message : 'leads without having renewed its lease in time',
    };
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { lead, rest, lost, logger } = this.#ports;
    const over = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    lead(signal).then(this.#tellElected, (error: unknown) => {
      logger.error('leader could not start, it steps down', { error: messageOf(error) });
      this.#withdrawn.abort();
    });
    await over;
    // Not again: the queues of a stopped controller are closed.
    this.#withdrawn.abort();
    await rest();
    if (this.#stopping) return;
    logger.error('no longer the leader, the manager stops', { lease: this.#election.name });
    this.#run
      .then(lost)
      .then(this.#election.onLost)
      .catch((error: unknown) =>
        logger.error('stopping after the loss failed', { error: messageOf(error) }),
      );
  }
}
