import {
  type Clock,
  hasCode,
  linkSignals,
  type Logger,
  messageOf,
  silentLogger,
  sleep,
  systemClock,
  systemRandom,
  within,
} from '../base/index.js';
import type { ObjectStore, Operation } from '../store/index.js';
import { enrol } from './candidates.js';
import { ElectionWaits } from './election-waits.js';
import { type ElectorHealth, electorHealth } from './elector-health.js';
import {
  type ElectionTimes,
  electionTimes,
  type LeaderCallbacks,
  type LeaderElectorOptions,
  requireElectorOptions,
} from './elector-options.js';
import {
  type ElectorState,
  requireElectorTransition,
  type EndReason,
  type Phase,
  requireAtRest,
} from './elector-state.js';
import { FencedStore, leadershipLost } from './fenced-store.js';
import type { Term } from './lease-client.js';
import { LeaseHolding } from './lease-holding.js';
import { type Lease, leases } from './lease.js';

/**
 * Elects one leader among candidates that share a store. Its states are those of {@link ElectorState}.
 *
 * Guarantees:
 * - Writes through {@link fence} are checked inside the commit: only the holder of the lease writes, in its epoch.
 * - Only its own clock decides when a lease has expired. Every call of the store has a deadline; a lease that is written
 *   after it is released and makes no leader.
 * - Leading ends when the lease was deleted, recreated, or belongs to a restored store, even if it looks the same.
 *
 * Ordering: an `onStartedLeading` is followed by an `onStoppedLeading`. After a withdrawal or a failure the lease is
 * released when the leader's work has ended, then `onStoppedLeading` is called; after a loss it is called first.
 *
 * Errors: `run` is refused with FailedPrecondition, reason ElectorRunning or IdentityInUse. Failed calls of the
 * store are retried. Callbacks that throw are logged. Fenced writes: FailedPrecondition, reason LeadershipLost.
 *
 * Caveats: two candidates may briefly believe that they lead. A fence protects the store, not external systems.
 *
 * @example
 * import { LeaderElector } from 'kedge';
 *
 * const elector = new LeaderElector({ store, name: 'jobs', identity: `worker-${process.pid}` });
 * const onStartedLeading = async () => {
 *   await elector.fence().updateStatus(lamps, { name: 'hall' }, { lit: true });
 * };
 * await elector.run({ onStartedLeading, onStoppedLeading: () => undefined }, AbortSignal.timeout(60_000));
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #clock: Clock;
  readonly #waits: ElectionWaits;
  readonly #logger: Logger;
  readonly #times: ElectionTimes;
  readonly #lease: LeaseHolding;
  #phase: Phase = { state: 'idle' };
  /** Incremented when an attempt times out: its late result is ignored. */
  #attempt = 0;

  /**
   * @throws RangeError unless lease > renew deadline > 1.2 x retry period > 0
   * @throws StatusError InvalidArgument for an invalid `name` or `identity`, TypeError for another invalid option
   */
  constructor(options: LeaderElectorOptions) {
    requireElectorOptions(options);
    this.#times = electionTimes(options);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const random = options.random ?? systemRandom;
    this.#waits = new ElectionWaits(this.#clock, random, this.#times);
    this.#logger = (options.logger ?? silentLogger).child({ lease: options.name });
    const ports = { clock: this.#clock, logger: this.#logger, times: this.#times };
    this.#lease = new LeaseHolding({ ...options, ...ports });
  }

  get state(): ElectorState {
    return this.#phase.state;
  }

  /** True while this candidate leads, as far as it knows. It is false at the latest when the renewal is overdue. */
  get isLeader(): boolean {
    return this.state === 'leading' && this.#lease.sinceRenewalMs < this.#times.renewDeadlineMs;
  }

  /** Identity of the last seen leader; empty for none. */
  get leader(): string {
    return this.#lease.leader;
  }

  /** Milliseconds from a loss by failed renewals to the earliest next leader: the work should end within this time. */
  get handoverMs(): number {
    return this.#times.leaseDurationMs - this.#times.renewDeadlineMs;
  }

  /** Whether {@link health} is healthy, for a liveness probe. */
  get healthy(): boolean {
    return this.health().healthy;
  }

  /**
   * Returns the health of the elector. A leader that did not renew its lease, or a standby that could not read it, for
   * longer than its duration is unhealthy. So is a former leader whose work still runs, unless `run` was aborted.
   */
  health(): ElectorHealth {
    return electorHealth({
      phase: this.#phase,
      identity: this.#options.identity,
      lease: this.#lease,
      leaseDurationMs: this.#times.leaseDurationMs,
    });
  }

  /**
   * The store for leader-only work: a write is committed only while this candidate holds the lease, under the epoch
   * in which it was elected.
   * @throws (writes) StatusError FailedPrecondition, reason LeadershipLost
   */
  fence(): ObjectStore {
    const { store, name } = this.#options;
    return new FencedStore(store, name, () => this.#check());
  }

  #check(): Operation {
    const { name, identity } = this.#options;
    const term = 'term' in this.#phase ? this.#phase.term : undefined;
    if (!term || term.storeId !== this.#lease.storeId) throw leadershipLost(name);
    const fields = { holderIdentity: identity, leaseTransitions: term.epoch };
    return { op: 'check', kind: leases, key: { name }, precondition: { uid: term.uid, fields } };
  }

  /**
   * Runs for election until `signal` aborts; then ends the leader's work, releases the lease and resolves. It keeps
   * the process running.
   * @throws StatusError FailedPrecondition, reason ElectorRunning: it already runs; reason IdentityInUse: another
   * elector of this process has its identity
   */
  async run(callbacks: LeaderCallbacks, signal: AbortSignal): Promise<void> {
    const { store, name, identity } = this.#options;
    requireAtRest(this.state);
    using _candidate = enrol(store, name, identity);
    this.#lease.begin();
    this.#move({ state: 'standby' });
    try {
      const everLed = await this.#takePart(callbacks, signal);
      if (!everLed) await this.#call('onStoppedLeading', () => callbacks.onStoppedLeading());
    } finally {
      this.#move({ state: 'stopped' });
    }
  }

  /** Runs the election; returns whether this candidate ever led. */
  async #takePart(callbacks: LeaderCallbacks, signal: AbortSignal): Promise<boolean> {
    let everLed = false;
    while (!signal.aborted) {
      const term = await this.#acquire(callbacks, signal);
      if (!term) break;
      this.#move({ state: 'leading', term });
      const led = !signal.aborted;
      const reason = led ? await this.#lead(term, callbacks, signal) : 'withdrawn';
      if (!led) this.#move({ state: 'resigning', term, reason });
      everLed ||= led;
      // The lease is released after this work ended, so that a successor starts after it. If it expired, the callback
      // runs first. A lost one is not released.
      if (reason === 'withdrawn' || reason === 'failed') await this.#lease.release(term);
      if (led) await this.#call('onStoppedLeading', () => callbacks.onStoppedLeading());
      if (reason === 'expired') await this.#lease.release(term);
      this.#move({ state: 'standby' });
      if (reason === 'failed') await this.#waits.pause(signal);
    }
    return everLed;
  }

  /** Leads from the first renewal to the end of the work. */
  async #lead(term: Term, callbacks: LeaderCallbacks, signal: AbortSignal): Promise<EndReason> {
    this.#logger.info('started leading', { epoch: term.epoch });
    const leading = new AbortController();
    const failed = new AbortController();
    const work = Promise.resolve()
      .then(() => callbacks.onStartedLeading(leading.signal))
      .catch((error: unknown) => {
        this.#logger.error('leader failed, it steps down', { error: messageOf(error) });
        failed.abort();
      });
    using over = linkSignals(signal, failed.signal);
    const ended = await this.#renewUntilOver(term, callbacks, over.signal);
    const reason = failed.signal.aborted ? 'failed' : ended;
    this.#move({ state: 'resigning', term, reason });
    this.#logger.info('stopped leading', { epoch: term.epoch, reason });
    leading.abort();
    await work;
    return reason;
  }

  async #acquire(callbacks: LeaderCallbacks, signal: AbortSignal): Promise<Term | undefined> {
    while (!signal.aborted) {
      const taken = await this.#attemptWithin(
        callbacks,
        (current) => this.#lease.take(current),
        (over) => this.#waits.timeout(this.#times.renewDeadlineMs, signal, over),
      );
      if (taken) return this.#lease.termOf(taken);
      await this.#waits.pause(signal);
    }
    return undefined;
  }

  async #renewUntilOver(
    term: Term,
    callbacks: LeaderCallbacks,
    signal: AbortSignal,
  ): Promise<EndReason> {
    const { retryPeriodMs, renewDeadlineMs } = this.#times;
    const leftMs = (): number => Math.max(0, renewDeadlineMs - this.#lease.sinceRenewalMs);
    for (;;) {
      await sleep(this.#clock, Math.min(retryPeriodMs, leftMs()), signal);
      if (signal.aborted) return 'withdrawn';
      if (leftMs() === 0) return 'expired';
      const seen = { lost: false };
      await this.#attemptWithin(
        callbacks,
        async (current) => {
          const renewal = await this.#lease.renew(term, current);
          seen.lost = renewal.lost;
          return renewal.lease;
        },
        (over) => this.#waits.timeout(leftMs(), signal, over),
      );
      if (seen.lost) return 'lost';
    }
  }

  /**
   * One attempt with a deadline; undefined if it failed. Never throws: an unreachable store is a failed attempt. A
   * late result is ignored.
   */
  async #attemptWithin(
    callbacks: LeaderCallbacks,
    attempt: (current: () => boolean) => Promise<Lease | undefined>,
    expiry: (over: AbortSignal) => Promise<void>,
  ): Promise<Lease | undefined> {
    const before = this.#lease.leader;
    const number = (this.#attempt += 1);
    const work = attempt(() => number === this.#attempt);
    const outcome = await within(work, expiry);
    this.#attempt += 1;
    if (outcome.type === 'late') {
      this.#logger.warn('lease could not be read or written in time');
      this.#releaseIfLate(work);
    } else if (outcome.type === 'failed') {
      const { error } = outcome;
      const raced = hasCode(error, 'Aborted') || hasCode(error, 'AlreadyExists');
      if (!raced) this.#logger.warn('lease could not be written', { error: messageOf(error) });
    }
    const leader = this.#lease.leader;
    // Not awaited: a renewal must not wait for a callback.
    if (leader !== before && leader !== '')
      void this.#call('onNewLeader', () => callbacks.onNewLeader?.(leader));
    return outcome.type === 'done' ? outcome.value : undefined;
  }

  /** Releases a lease that was written late: it names this candidate, which does not lead. */
  #releaseIfLate(work: Promise<Lease | undefined>): void {
    const release = async (): Promise<void> => {
      const written = await work;
      if (!written || this.state !== 'standby') return;
      await this.#lease.releaseLate(written);
      this.#logger.info('lease was written too late and released');
    };
    release().catch((error: unknown) =>
      this.#logger.debug('late write of the lease failed', { error: messageOf(error) }),
    );
  }

  /** Calls a callback; its errors do not affect the election. */
  async #call(callback: keyof LeaderCallbacks, call: () => void | Promise<void>): Promise<void> {
    try {
      await call();
    } catch (error) {
      this.#logger.error('callback of the election threw', { callback, error: messageOf(error) });
    }
  }

  #move(next: Phase): void {
    requireElectorTransition(this.state, next.state);
    this.#phase = next;
  }
}
