import { type Clock, type Logger, messageOf, type Random, StatusError } from '../base/index.js';
import { LeaderElector, type LeaderElectorOptions } from '../election/index.js';
import type { ObjectStore } from '../store/index.js';
import type { HealthCheck } from './health.js';
import type { StopBudget } from './stop-budget.js';

/** Election of the process whose controllers run. Times and names as in {@link LeaderElectorOptions}. */
export interface LeaderElection
  extends Pick<
    LeaderElectorOptions,
    'name' | 'identity' | 'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs'
  > {
  /**
   * Called once, after the manager stopped because leadership was lost or its work could not be started; also if
   * hanging parts were abandoned. End the process or create a new manager.
   */
  readonly onLost?: () => void;
}

/** The manager's functions that a candidacy uses. */
interface CandidacyPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Starts the leader's work; ends early when the signal aborts. */
  readonly lead: (signal: AbortSignal) => Promise<void>;
  /** Stops the leader's work within the budget of a stop in progress, else within `lossBudgetMs`. Never rejects. */
  readonly rest: (lossBudgetMs: number) => Promise<void>;
  /** Called when leadership ends involuntarily: the manager stops, within this budget. */
  readonly lost: (error: Error, lossBudgetMs: number) => void;
}

/** The candidacy of one manager: it leads at most once. */
export class Candidacy {
  readonly elector: LeaderElector;
  readonly store: ObjectStore;
  readonly #election: LeaderElection;
  readonly #ports: CandidacyPorts;
  readonly #withdrawn = new AbortController();
  #stopping = false;
  #lost = false;
  #run: Promise<void> = Promise.resolve();

  constructor(election: LeaderElection, ports: CandidacyPorts) {
    const { store, clock, random, logger } = ports;
    this.#election = election;
    this.#ports = ports;
    this.elector = new LeaderElector({ ...election, store, clock, random, logger });
    this.store = this.elector.fence();
  }

  /** Starts the candidacy. @throws StatusError FailedPrecondition, reason IdentityInUse */
  async start(): Promise<void> {
    this.#run = this.elector.run(
      { onStartedLeading: (signal) => this.#lead(signal), onStoppedLeading: () => undefined },
      this.#withdrawn.signal,
    );
    // `run` rejects at once if the elector can't run. Otherwise it resolves only at the end of the candidacy.
    if (this.elector.state === 'idle') await this.#run;
  }

  /** Withdraws the candidacy: a leader ends its work and then releases the lease. */
  withdraw(): void {
    this.#stopping = true;
    this.#withdrawn.abort();
  }

  /** Waits for the end of {@link withdraw}. */
  async stop(budget: StopBudget): Promise<void> {
    await budget.wait(`election ${this.#election.name}`, 'releasing the lease', this.#run);
  }

  /** True if leadership was lost involuntarily. */
  get lost(): boolean {
    return this.#lost;
  }

  health(): HealthCheck {
    const name = `election ${this.#election.name}`;
    const lost = { healthy: false, message: 'leadership was lost; the manager is being stopped' };
    return { name, ...(this.#lost ? lost : this.elector.health()) };
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { lead, rest, lost, logger } = this.#ports;
    const over = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    const failure = await lead(signal).then(
      () => undefined,
      (error: unknown) => (signal.aborted ? undefined : { error }),
    );
    if (failure)
      logger.error('the leader could not start and steps down', {
        error: messageOf(failure.error),
      });
    else await over;
    this.#lost = !this.#stopping;
    // No further candidacy: the queues of a stopped controller are closed.
    this.#withdrawn.abort();
    if (this.#lost) {
      logger.error('this process is no longer the leader; the manager is being stopped', {
        lease: this.#election.name,
      });
      lost(this.#lossError(failure), this.elector.handoverMs);
    }
    await rest(this.elector.handoverMs);
  }

  #lossError(failure: { readonly error: unknown } | undefined): StatusError {
    const { name } = this.#election;
    const why = failure
      ? `could not start its work (${messageOf(failure.error)}) and stepped down`
      : 'lost';
    return new StatusError({
      code: 'FailedPrecondition',
      reason: 'LeadershipLost',
      message: `this process ${why} the leadership of lease ${name}; restart it to be a candidate again`,
      cause: failure?.error,
    });
  }
}
