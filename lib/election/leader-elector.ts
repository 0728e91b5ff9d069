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
  /** When this process first saw that version: clocks of other machines are not used. */
  readonly at: number;
}

/**
 * Elects one leader among candidates that share a store.
 *
 * Two candidates may briefly believe to lead; writes through {@link fence} are checked inside the commit, so that
 * only the real leader writes.
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
 * - Every call of the store has a deadline: an attempt to take the lease `renewDeadlineMs`, a renewal until that
 *   long after the last one, a release for `retryPeriodMs`. A write that succeeds after its deadline does not make
 *   this candidate the leader; it releases the lease.
 * - Leading ends when the lease was deleted, recreated, or belongs to a restored store, even if it looks the same:
 *   others may have led in between.
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
  /** Incremented when an attempt times out: its late result is ignored. */
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

  /** Identity of the last seen leader; empty for none. */
  get leader(): string {
    return this.#leader;
  }

  /**
   * Milliseconds from a loss by failed renewals to the earliest time at which another candidate may lead: the
   * leader's work should end by then.
   */
  get handoverMs(): number {
    return this.#times.leaseDurationMs - this.#times.renewDeadlineMs;
  }

  /** For a liveness probe: see {@link health}. */
  get healthy(): boolean {
    return this.health().healthy;
  }

  /**
   * Unhealthy: a leader without a renewal for longer than the lease duration, a former leader whose work still
   * runs, and a standby that could not read the lease for that long.
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
   * Takes part until `signal` aborts; then ends the leader's work, releases the lease and resolves. It keeps the
   * process running.
   * @throws StatusError FailedPrecondition, reason ElectorRunning: it already takes part; reason IdentityInUse:
   * another elector of this process has its identity
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

  /** Returns whether it ever led. */
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
      // Released last: a successor starts after this one's work ended. After a loss the callback runs first.
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

  /** Timeout of an attempt: shorter once this candidate stops. */
  async #patience(limitMs: number, signal: AbortSignal, over: AbortSignal): Promise<void> {
    using link = linkSignals(signal, over);
    await sleep(this.#clock, limitMs, link.signal);
    if (!signal.aborted) return;
    await sleep(this.#clock, Math.min(limitMs, this.#times.retryPeriodMs), over);
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

  /** A late lease write names this candidate, which does not lead: without a release nobody could lead. */
  #giveBackIfLate(work: Promise<Lease | undefined>): void {
    const giveBack = async (): Promise<void> => {
      const written = await work;
      if (!written || this.state !== 'standby') return;
      await this.#lease.release(this.#termOf(written), this.#options.identity);
      this.#logger.info('lease was written too late and released');
    };
    giveBack().catch((error: unknown) =>
      this.#logger.debug('late write of the lease failed', { error: messageOf(error) }),
    );
  }

  async #take(current: () => boolean): Promise<Lease | undefined> {
    const held = await this.#lease.read();
    if (!current()) return undefined;
    const unchangedMs = this.#observe(held);
    // Also for this identity: the lease may be from an earlier run, or of another process with the same identity.
    const free = !held || held.holderIdentity === '' || unchangedMs >= this.#times.leaseDurationMs;
    if (!free) return undefined;
    return this.#write(() => this.#lease.take(held, this.#hold, this.#epochSeen), current);
  }

  async #write(write: () => Promise<Lease>, current: () => boolean): Promise<Lease> {
    const startedAt = this.#clock.monotonic();
    const written = await write();
    if (current()) {
      this.#observe(written);
      // Measured from before the write: others may count from then.
      this.#renewedAt = startedAt;
    }
    return written;
  }

  /** Records the read lease; returns for how long it has not changed, in milliseconds. */
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
    this.#logger.warn('lease could not be released, it will expire', { error });
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

  /** Errors of callbacks do not affect the election. */
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
