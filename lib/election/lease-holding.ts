import { type Clock, type Logger, messageOf, sleep, within } from '../base/index.js';
import type { ObjectStore } from '../store/index.js';
import type { ElectionTimes } from './elector-options.js';
import { type Hold, LeaseClient, type Term } from './lease-client.js';
import type { Lease } from './lease.js';

interface Observed {
  /** Store, uid and version of the lease. A change of any of them is a sign of life of the holder. */
  readonly version: string;
  /** When this process first saw that version: clocks of other machines are not used. */
  readonly at: number;
}

/** The result of a renewal. */
export interface Renewal {
  readonly lost: boolean;
  readonly lease?: Lease;
}

/** Dependencies of {@link LeaseHolding}. */
export interface LeaseHoldingOptions {
  readonly store: ObjectStore;
  readonly name: string;
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly times: ElectionTimes;
}

/**
 * The lease as one candidate sees it: the last read state and its time, and the writes that take, renew and release
 * it. The elector decides whether the candidate leads.
 */
export class LeaseHolding {
  readonly #client: LeaseClient;
  readonly #identity: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #times: ElectionTimes;
  #observed: Observed | undefined;
  #epochSeen = 0;
  #leader = '';
  #renewedAt = 0;
  #readAt = 0;

  constructor(options: LeaseHoldingOptions) {
    this.#client = new LeaseClient(options.store, options.name, options.clock);
    this.#identity = options.identity;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#times = options.times;
  }

  get storeId(): string {
    return this.#client.storeId;
  }

  /** Identity of the leader last seen; empty for none. */
  get leader(): string {
    return this.#leader;
  }

  /** Milliseconds since the lease was last read, or since {@link begin}. */
  get sinceReadMs(): number {
    return this.#clock.monotonic() - this.#readAt;
  }

  /** Starts the candidacy: {@link sinceReadMs} counts from now. */
  begin(): void {
    this.#readAt = this.#clock.monotonic();
  }

  /** Takes the lease if it is free. Undefined if another candidate holds it, or once the attempt has timed out. */
  async take(current: () => boolean): Promise<Lease | undefined> {
    const held = await this.#client.read();
    if (!current()) return undefined;
    const unchangedMs = this.#observe(held);
    // Applies to this identity too: the lease may be from an earlier run, or of another process with this identity.
    const free = !held || held.holderIdentity === '' || unchangedMs >= this.#times.leaseDurationMs;
    if (!free) return undefined;
    return this.#write(() => this.#client.take(held, this.#hold, this.#epochSeen), current);
  }

  /**
   * Renews the lease of a term; `lost` if the lease no longer belongs to that term. The result has no lease once the
   * attempt has timed out.
   */
  async renew(term: Term, current: () => boolean): Promise<Renewal> {
    const held = await this.#client.read();
    if (!current()) return { lost: false };
    this.#observe(held);
    const isOurs = this.#client.isOf(term, this.#identity, held);
    if (!isOurs) return { lost: true };
    return {
      lost: false,
      lease: await this.#write(() => this.#client.renew(held, this.#hold), current),
    };
  }

  async #write(write: () => Promise<Lease>, current: () => boolean): Promise<Lease> {
    const startedAt = this.#clock.monotonic();
    const written = await write();
    if (current()) {
      this.#observe(written);
      // The time before the write counts, because other candidates may have seen the write earlier than its answer
      // arrived.
      this.#renewedAt = startedAt;
    }
    return written;
  }

  /** Records a lease that was read or written. Returns the milliseconds since this process first saw that version. */
  #observe(held: Lease | undefined): number {
    const now = this.#clock.monotonic();
    const { uid, resourceVersion } = held?.metadata ?? {};
    const version = JSON.stringify([this.#client.storeId, uid, resourceVersion]);
    if (this.#observed?.version !== version) this.#observed = { version, at: now };
    this.#leader = held?.holderIdentity ?? '';
    this.#epochSeen = Math.max(this.#epochSeen, held?.leaseTransitions ?? 0);
    this.#readAt = now;
    return now - this.#observed.at;
  }

  /**
   * Releases the lease of a term within one retry period. If that fails, the failure is logged and the lease expires.
   */
  async release(term: Term): Promise<void> {
    const outcome = await within(this.#client.release(term, this.#identity), (over) =>
      sleep(this.#clock, this.#times.retryPeriodMs, over),
    );
    if (outcome.type === 'done') {
      if (this.#leader === this.#identity) this.#leader = '';
      return;
    }
    const error = outcome.type === 'failed' ? messageOf(outcome.error) : 'no answer in time';
    this.#logger.warn('lease could not be released, it will expire', { error });
  }

  /** Releases a lease that this candidate wrote too late, without a time limit. */
  releaseLate(written: Lease): Promise<void> {
    return this.#client.release(this.termOf(written), this.#identity);
  }

  get #hold(): Hold {
    return { identity: this.#identity, leaseDurationMs: this.#times.leaseDurationMs };
  }

  /** The term of a lease that this candidate wrote. */
  termOf(lease: Lease): Term {
    const { uid } = lease.metadata;
    return { epoch: lease.leaseTransitions, uid, storeId: this.#client.storeId };
  }

  /** Milliseconds since the start of the write that took or renewed the lease. */
  get sinceRenewalMs(): number {
    return this.#clock.monotonic() - this.#renewedAt;
  }
}
