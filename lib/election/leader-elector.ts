import {
  type Clock,
  hasCode,
  linkSignals,
  type Logger,
  messageOf,
  type Random,
  silentLogger,
  sleep,
  systemClock,
  systemRandom,
  within,
} from '../base/index.js';
import type { ObjectStore, Operation } from '../store/index.js';
import { enrol } from './candidates.js';
import { type ElectorHealth, electorHealth } from './elector-health.js';
import {
  demandElectorOptions,
  type ElectionTimes,
  electionTimes,
  jitterFactor,
  type LeaderCallbacks,
  type LeaderElectorOptions,
} from './elector-options.js';
import {
  demandAtRest,
  demandMove,
  type ElectorState,
  type EndReason,
  type Phase,
} from './elector-state.js';
import { FencedStore, leadershipLost } from './fenced-store.js';
import { type Hold, LeaseClient, type Term } from './lease-client.js';
import { type Lease, leases } from './lease.js';

interface Observed {
  /** Store, uid and version of the lease: only a change of these counts. */
  readonly version: string;
  /** When this process saw that version first: clocks of others are not looked at. */
  readonly at: number;
}

/**
 * Elects one leader among candidates that share a store.
 *
 * Two candidates may believe to lead for a moment, as everywhere; but what goes through
 * {@link fence} is checked inside the commit, so only the true one writes.
 *
 * | State       | Means                                            | Next                                     |
 * | ----------- | ------------------------------------------------ | ---------------------------------------- |
 * | `idle`      | {@link run} was not called yet                   | `standby`: by `run`                      |
 * | `standby`   | tries to take the lease                          | `leading`: took it; `stopped`: aborted   |
 * | `leading`   | holds the lease and renews it                    | `resigning`: aborted, lost, not renewed in time, or the work failed |
 * | `resigning` | the work is told to end; then the lease is freed | `standby`, or `stopped` when aborted     |
 * | `stopped`   | `run` has resolved                               | `standby`: by `run`                      |
 *
 * - `run` is refused in `standby`, `leading` and `resigning`; everything else may be called in any state.
 * - No call of the store is waited for without a deadline: a try to take the lease for
 *   `renewDeadlineMs`, a renewal until that long after the last one, a release for `retryPeriodMs`.
 *   A write that succeeds after its deadline does not make this candidate lead; its lease is given back.
 * - Leading ends for good when the lease was deleted, made anew, or belongs to another life of the
 *   store, even if it looks the same: others may have led in between.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #times: ElectionTimes;
  readonly #lease: LeaseClient;
  #phase: Phase = { state: 'idle' };
  #observed: Observed | undefined;
  #epochSeen = 0;
  #leader = '';
  #renewedAt = 0;
  #readAt = 0;
  /** Rises when a try is given up: what it brings later no longer counts. */
  #attempt = 0;

  /**
   * @throws RangeError unless lease > renew deadline > 1.2 x retry period > 0
   * @throws StatusError InvalidArgument for an empty, padded or too long `name` or `identity`
   */
  constructor(options: LeaderElectorOptions) {
    demandElectorOptions(options);
    this.#times = electionTimes(options);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#logger = (options.logger ?? silentLogger).child({ lease: options.name });
    this.#lease = new LeaseClient(options.store, options.name, this.#clock);
  }

  get state(): ElectorState {
    return this.#phase.state;
  }

  /** True while this candidate leads, as far as it knows: false at the latest when its renewal is overdue. */
  get isLeader(): boolean {
    return this.state === 'leading' && this.#sinceRenewalMs() < this.#times.renewDeadlineMs;
  }

  /** Identity of the leader last seen; empty for none. */
  get leader(): string {
    return this.#leader;
  }

  /**
   * Time from a loss, when renewals failed, to the earliest moment that another one may lead, in
   * milliseconds: the leader's work should be over then.
   */
  get handoverMs(): number {
    return this.#times.leaseDurationMs - this.#times.renewDeadlineMs;
  }

  /** For a liveness probe: see {@link health}. */
  get healthy(): boolean {
    return this.health().healthy;
  }

  /**
   * Unhealthy are a leader that has not renewed for longer than a lease lasts, one that lost the
   * lease while its work goes on, and a standby that could not read the lease for that long.
   */
  health(): ElectorHealth {
    return electorHealth({
      phase: this.#phase,
      identity: this.#options.identity,
      leader: this.#leader,
      leaseDurationMs: this.#times.leaseDurationMs,
      sinceRenewalMs: this.#sinceRenewalMs(),
      sinceReadMs: this.#clock.monotonic() - this.#readAt,
    });
  }

  /**
   * The store for leader-only work: every write is committed only while this candidate holds the
   * lease, under the epoch it was elected in.
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
    const precondition = { uid: term.uid, fields };
    return { op: 'check', kind: leases, key: { name }, precondition };
  }

  /**
   * Takes part until `signal` aborts; then ends the leader's work, gives the lease back and resolves.
   * It keeps the process running.
   * @throws StatusError FailedPrecondition, reason ElectorRunning: it takes part already; reason
   * IdentityInUse: another elector of this process takes part under its identity
   */
  async run(callbacks: LeaderCallbacks, signal: AbortSignal): Promise<void> {
    const { store, name, identity } = this.#options;
    demandAtRest(this.state);
    using _candidate = enrol(store, name, identity);
    this.#readAt = this.#clock.monotonic();
    this.#move({ state: 'standby' });
    try {
      const everLed = await this.#takePart(callbacks, signal);
      if (!everLed) await this.#tell('onStoppedLeading', () => callbacks.onStoppedLeading());
    } finally {
      this.#move({ state: 'stopped' });
    }
  }

  /** Gives back whether it ever led. */
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
      // Released last: a successor starts when this one's work is over. Who lost the lease is told first.
      if (reason === 'withdrawn' || reason === 'failed') await this.#release(term);
      if (led) await this.#tell('onStoppedLeading', () => callbacks.onStoppedLeading());
      if (reason === 'expired') await this.#release(term);
      this.#move({ state: 'standby' });
      if (reason === 'failed') await this.#pause(signal);
    }
    return everLed;
  }

  /** From the first renewal to the end of the work. */
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
        (current) => this.#take(current),
        (over) => this.#patience(this.#times.renewDeadlineMs, signal, over),
      );
      if (taken) return this.#termOf(taken);
      await this.#pause(signal);
    }
    return undefined;
  }

  #pause(signal: AbortSignal): Promise<void> {
    const jitter = 1 + (jitterFactor - 1) * this.#random.next();
    return sleep(this.#clock, this.#times.retryPeriodMs * jitter, signal);
  }

  async #renewUntilOver(
    term: Term,
    callbacks: LeaderCallbacks,
    signal: AbortSignal,
  ): Promise<EndReason> {
    const { retryPeriodMs, renewDeadlineMs } = this.#times;
    const leftMs = (): number => Math.max(0, renewDeadlineMs - this.#sinceRenewalMs());
    for (;;) {
      await sleep(this.#clock, Math.min(retryPeriodMs, leftMs()), signal);
      if (signal.aborted) return 'withdrawn';
      if (leftMs() === 0) return 'expired';
      const seen = { lost: false };
      await this.#attemptWithin(
        callbacks,
        async (current) => {
          const held = await this.#lease.read();
          if (!current()) return undefined;
          this.#observe(held);
          seen.lost = !this.#lease.isOf(term, this.#options.identity, held);
          if (seen.lost || !held) return undefined;
          return this.#write(() => this.#lease.renew(held, this.#hold), current);
        },
        (over) => this.#patience(leftMs(), signal, over),
      );
      if (seen.lost) return 'lost';
    }
  }

  /** How long a try is waited for: less once this candidate is to stop. */
  async #patience(limitMs: number, signal: AbortSignal, over: AbortSignal): Promise<void> {
    using link = linkSignals(signal, over);
    await sleep(this.#clock, limitMs, link.signal);
    if (!signal.aborted) return;
    await sleep(this.#clock, Math.min(limitMs, this.#times.retryPeriodMs), over);
  }

  /**
   * One try with a deadline; undefined when it brought nothing. Never throws: a store that can't be
   * reached is a try that failed. What comes too late does not count.
   */
  async #attemptWithin(
    callbacks: LeaderCallbacks,
    attempt: (current: () => boolean) => Promise<Lease | undefined>,
    expiry: (over: AbortSignal) => Promise<void>,
  ): Promise<Lease | undefined> {
    const before = this.#leader;
    const number = (this.#attempt += 1);
    const work = attempt(() => number === this.#attempt);
    const outcome = await within(work, expiry);
    this.#attempt += 1;
    if (outcome.type === 'late') {
      this.#logger.warn('lease could not be read or written in time');
      this.#giveBackIfLate(work);
    } else if (outcome.type === 'failed') {
      const { error } = outcome;
      const raced = hasCode(error, 'Aborted') || hasCode(error, 'AlreadyExists');
      if (!raced) this.#logger.warn('lease could not be written', { error: messageOf(error) });
    }
    const leader = this.#leader;
    // Not awaited: a renewal waits for no callback.
    if (leader !== before && leader !== '')
      void this.#tell('onNewLeader', () => callbacks.onNewLeader?.(leader));
    return outcome.type === 'done' ? outcome.value : undefined;
  }

  /** A lease that was written too late names this candidate, which does not lead: nobody would. */
  #giveBackIfLate(work: Promise<Lease | undefined>): void {
    const giveBack = async (): Promise<void> => {
      const written = await work;
      if (!written || this.state !== 'standby') return;
      await this.#lease.release(this.#termOf(written), this.#options.identity);
      this.#logger.info('lease was written too late, and given back');
    };
    giveBack().catch((error: unknown) =>
      this.#logger.debug('late write of the lease failed', { error: messageOf(error) }),
    );
  }

  async #take(current: () => boolean): Promise<Lease | undefined> {
    const held = await this.#lease.read();
    if (!current()) return undefined;
    const unchangedMs = this.#observe(held);
    // Under this identity too: the lease may be of an earlier life, or of a twin in another process.
    const free = !held || held.holderIdentity === '' || unchangedMs >= this.#times.leaseDurationMs;
    if (!free) return undefined;
    return this.#write(() => this.#lease.take(held, this.#hold, this.#epochSeen), current);
  }

  async #write(write: () => Promise<Lease>, current: () => boolean): Promise<Lease> {
    const startedAt = this.#clock.monotonic();
    const written = await write();
    if (current()) {
      this.#observe(written);
      // From before the write: that is when the others' patience may have begun.
      this.#renewedAt = startedAt;
    }
    return written;
  }

  /** Notes what was read; gives back for how long the lease has not changed, in milliseconds. */
  #observe(held: Lease | undefined): number {
    const now = this.#clock.monotonic();
    const { uid, resourceVersion } = held?.metadata ?? {};
    const version = JSON.stringify([this.#lease.storeId, uid, resourceVersion]);
    if (this.#observed?.version !== version) this.#observed = { version, at: now };
    this.#leader = held?.holderIdentity ?? '';
    this.#epochSeen = Math.max(this.#epochSeen, held?.leaseTransitions ?? 0);
    this.#readAt = now;
    return now - this.#observed.at;
  }

  async #release(term: Term): Promise<void> {
    const outcome = await within(this.#lease.release(term, this.#options.identity), (over) =>
      sleep(this.#clock, this.#times.retryPeriodMs, over),
    );
    if (outcome.type === 'done') {
      if (this.#leader === this.#options.identity) this.#leader = '';
      return;
    }
    const error = outcome.type === 'failed' ? messageOf(outcome.error) : 'no answer in time';
    this.#logger.warn('lease could not be given back, it will expire', { error });
  }

  get #hold(): Hold {
    const { identity } = this.#options;
    return { identity, leaseDurationMs: this.#times.leaseDurationMs };
  }

  #termOf(lease: Lease): Term {
    const { uid } = lease.metadata;
    return { epoch: lease.leaseTransitions, uid, storeId: this.#lease.storeId };
  }

  #sinceRenewalMs(): number {
    return this.#clock.monotonic() - this.#renewedAt;
  }

  /** What a callback throws is its own affair: the election goes on. */
  async #tell(callback: keyof LeaderCallbacks, call: () => void | Promise<void>): Promise<void> {
    try {
      await call();
    } catch (error) {
      this.#logger.error('callback of the election threw', { callback, error: messageOf(error) });
    }
  }

  #move(next: Phase): void {
    demandMove(this.state, next.state);
    this.#phase = next;
  }
}
