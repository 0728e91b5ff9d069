import {
  type Clock,
  hasCode,
  type Logger,
  messageOf,
  type Random,
  silentLogger,
  sleep,
  systemClock,
  systemRandom,
  timestamp,
} from '../base/index.js';
import type { ObjectStore, Operation } from '../store/index.js';
import { FencedStore, leadershipLost } from './fenced-store.js';
import { type Lease, leases } from './lease.js';

/** Times and ports of an election. Defaults and rules are client-go's. */
export interface LeaderElectorOptions {
  readonly store: ObjectStore;
  /** Name of the lease: one leader a name. */
  readonly name: string;
  /** This candidate; unique, also across restarts of the process. */
  readonly identity: string;
  /** A lease that was not renewed for this long may be taken; default 15 s. */
  readonly leaseDurationMs?: number;
  /** A leader that could not renew for this long gives up; less than the lease; default 10 s. */
  readonly renewDeadlineMs?: number;
  /** Pause between tries; default 2 s. */
  readonly retryPeriodMs?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
}

/** What a candidate is told. Both may be called again and again, in turns. */
export interface LeaderCallbacks {
  /** This candidate leads until `signal` aborts. What it starts must be over soon after. */
  onStartedLeading(signal: AbortSignal): void | Promise<void>;
  /** Leading is over. Also called once when the elector stops without ever having led. */
  onStoppedLeading(): void | Promise<void>;
  /** Somebody leads now; may be this candidate. */
  onNewLeader?(identity: string): void;
}

/** client-go's jitter of the pause. */
const jitterFactor = 1.2;

interface Observed {
  readonly resourceVersion: string;
  /** When this process saw that version first: clocks of others are not looked at. */
  readonly at: number;
}

/**
 * Elects one leader among candidates that share a store.
 *
 * Two candidates may believe to lead for a moment, as everywhere; but what goes through
 * {@link fence} is checked inside the commit, so only the true one writes.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #leaseDurationMs: number;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  #observed: Observed | undefined;
  #leader = '';
  #epoch: number | undefined;
  #renewedAt = 0;
  /** Rises when a try is given up: what it brings later no longer counts. */
  #attempt = 0;

  /** @throws RangeError unless lease > renew deadline > 1.2 x retry period > 0. */
  constructor(options: LeaderElectorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#logger = (options.logger ?? silentLogger).child({ lease: options.name });
    this.#leaseDurationMs = options.leaseDurationMs ?? 15_000;
    this.#renewDeadlineMs = options.renewDeadlineMs ?? 10_000;
    this.#retryPeriodMs = options.retryPeriodMs ?? 2_000;
    const inOrder =
      this.#leaseDurationMs > this.#renewDeadlineMs &&
      this.#renewDeadlineMs > jitterFactor * this.#retryPeriodMs &&
      this.#retryPeriodMs > 0;
    if (!inOrder)
      throw new RangeError(
        `lease ${this.#leaseDurationMs} ms, renew deadline ${this.#renewDeadlineMs} ms and retry period ${this.#retryPeriodMs} ms: each must be longer than the next (the last one times ${jitterFactor})`,
      );
  }

  /** True while this candidate leads, as far as it knows. */
  get isLeader(): boolean {
    return this.#epoch !== undefined;
  }

  /** Identity of the leader last seen; empty for none. */
  get leader(): string {
    return this.#leader;
  }

  /** For health: false when it leads and has not renewed for longer than a lease lasts. */
  get healthy(): boolean {
    return !this.isLeader || this.#clock.monotonic() - this.#renewedAt <= this.#leaseDurationMs;
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
    if (this.#epoch === undefined) throw leadershipLost(name);
    const fields = { holderIdentity: identity, leaseTransitions: this.#epoch };
    return { op: 'check', kind: leases, key: { name }, precondition: { fields } };
  }

  /** Takes part until `signal` aborts; then gives the lease back. */
  async run(callbacks: LeaderCallbacks, signal: AbortSignal): Promise<void> {
    let everLed = false;
    while (!signal.aborted) {
      if (!(await this.#acquire(callbacks, signal))) break;
      everLed = true;
      const leading = new AbortController();
      this.#logger.info('started leading', { epoch: this.#epoch });
      const work = Promise.resolve()
        .then(() => callbacks.onStartedLeading(leading.signal))
        .catch((error: unknown) =>
          this.#logger.error('leader failed', { error: messageOf(error) }),
        );
      await this.#renewUntilLost(callbacks, signal);
      leading.abort();
      await work;
      // Released last: a successor starts when this one's work is over.
      await this.#release();
      this.#logger.info('stopped leading');
      await callbacks.onStoppedLeading();
    }
    if (!everLed) await callbacks.onStoppedLeading();
  }

  async #acquire(callbacks: LeaderCallbacks, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      const acquired = await this.#tryAcquireOrRenew(callbacks);
      if (acquired) return true;
      const jitter = 1 + (jitterFactor - 1) * this.#random.next();
      await sleep(this.#clock, this.#retryPeriodMs * jitter, signal);
    }
    return false;
  }

  async #renewUntilLost(callbacks: LeaderCallbacks, signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#clock, this.#retryPeriodMs, signal);
      if (signal.aborted) return;
      if (await this.#renewInTime(callbacks)) continue;
      const lost = this.#leader !== this.#options.identity;
      if (lost || this.#clock.monotonic() - this.#renewedAt >= this.#renewDeadlineMs) return;
    }
  }

  /** One try to renew; one that hangs beyond the renew deadline has failed, and may not succeed later. */
  async #renewInTime(callbacks: LeaderCallbacks): Promise<boolean> {
    const leftMs = this.#renewedAt + this.#renewDeadlineMs - this.#clock.monotonic();
    const ended = new AbortController();
    const late = sleep(this.#clock, Math.max(0, leftMs), ended.signal).then(() => {
      if (ended.signal.aborted) return false;
      this.#attempt += 1;
      return false;
    });
    const renewed = this.#tryAcquireOrRenew(callbacks).finally(() => ended.abort());
    return Promise.race([renewed, late]);
  }

  /** One try; never throws: a store that can't be reached is a try that failed. */
  async #tryAcquireOrRenew(callbacks: LeaderCallbacks): Promise<boolean> {
    const { store, name, identity } = this.#options;
    const before = this.#leader;
    const attempt = this.#attempt;
    try {
      const held = await store.get(leases, { name });
      if (attempt !== this.#attempt) return false;
      this.#observe(held);
      const mine = held?.holderIdentity === identity;
      const expired =
        held !== undefined &&
        this.#clock.monotonic() - (this.#observed?.at ?? 0) >= this.#leaseDurationMs;
      // A lease in this name that is not ours by epoch is from an earlier life: wait for it too.
      const renews = mine && this.#epoch === held.leaseTransitions;
      if (held && held.holderIdentity !== '' && !renews && !expired) {
        this.#epoch = mine ? this.#epoch : undefined;
        return false;
      }
      return await this.#write(held, renews, attempt);
    } catch (error) {
      const raced = hasCode(error, 'Aborted') || hasCode(error, 'AlreadyExists');
      if (!raced) this.#logger.warn('lease could not be written', { error: messageOf(error) });
      return false;
    } finally {
      if (this.#leader !== before && this.#leader !== '') callbacks.onNewLeader?.(this.#leader);
    }
  }

  #observe(held: Lease | undefined): void {
    const resourceVersion = held?.metadata.resourceVersion ?? '';
    if (this.#observed?.resourceVersion !== resourceVersion)
      this.#observed = { resourceVersion, at: this.#clock.monotonic() };
    this.#leader = held?.holderIdentity ?? '';
  }

  async #write(held: Lease | undefined, renews: boolean, attempt: number): Promise<boolean> {
    const { store, name, identity } = this.#options;
    const now = timestamp(this.#clock);
    const epoch = renews ? (held?.leaseTransitions ?? 0) : (held?.leaseTransitions ?? 0) + 1;
    const startedAt = this.#clock.monotonic();
    const next = {
      name,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(this.#leaseDurationMs / 1_000),
      acquireTime: renews ? (held?.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: epoch,
    };
    const written = held
      ? await store.update(leases, { ...held, ...next })
      : await store.create(leases, next);
    if (attempt !== this.#attempt) return false;
    this.#observe(written);
    this.#epoch = epoch;
    // From before the write: that is when the others' patience may have begun.
    this.#renewedAt = startedAt;
    return true;
  }

  /** Empties the lease, so that a successor need not wait; conflicts mean that it is gone already. */
  async #release(): Promise<void> {
    const { store, name, identity } = this.#options;
    const epoch = this.#epoch;
    this.#epoch = undefined;
    try {
      const held = await store.get(leases, { name });
      if (held?.holderIdentity !== identity || held.leaseTransitions !== epoch) return;
      const next = { ...held, holderIdentity: '', leaseDurationSeconds: 1 };
      await store.update(leases, next);
      this.#leader = '';
    } catch (error) {
      this.#logger.warn('lease could not be given back, it will expire', {
        error: messageOf(error),
      });
    }
  }
}
