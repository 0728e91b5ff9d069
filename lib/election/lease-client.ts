import { type Clock, hasCode, timestamp } from '../base/index.js';
import type { ObjectStore } from '../store/index.js';
import { type Lease, leases } from './lease.js';

/** One term of leadership: the values that identify this candidate's lease. */
export interface Term {
  readonly epoch: number;
  /** Uid of the lease; a recreated one is another lease. */
  readonly uid: string;
  /** Id of the store; a term does not survive a restore. */
  readonly storeId: string;
}

/** Maximum attempts to release against concurrent writers of the lease. */
const releaseTriesMax = 5;

/** The fields of the lease that a holder writes. */
export interface Hold {
  readonly identity: string;
  readonly leaseDurationMs: number;
}

/** Reads and writes one lease; each write is guarded by the version that was read. It has no deadlines. */
export class LeaseClient {
  readonly #store: ObjectStore;
  readonly #name: string;
  readonly #clock: Clock;

  constructor(store: ObjectStore, name: string, clock: Clock) {
    this.#store = store;
    this.#name = name;
    this.#clock = clock;
  }

  get storeId(): string {
    return this.#store.storeId;
  }

  read(): Promise<Lease | undefined> {
    return this.#store.get(leases, { name: this.#name });
  }

  /** Whether `held` is the lease of that term in the present store. */
  isOf(term: Term, identity: string, held: Lease | undefined): held is Lease {
    return (
      held !== undefined &&
      this.storeId === term.storeId &&
      held.metadata.uid === term.uid &&
      held.holderIdentity === identity &&
      held.leaseTransitions === term.epoch
    );
  }

  /** Takes the lease under a new epoch. @throws StatusError Aborted, AlreadyExists on conflicts. */
  take(held: Lease | undefined, hold: Hold, epochSeen: number): Promise<Lease> {
    const now = timestamp(this.#clock);
    // An epoch is never larger than the revision that wrote it. So this one is larger than all earlier epochs, even
    // if the lease was deleted in between.
    const floor = held ? held.leaseTransitions : this.#store.revision;
    const next = {
      name: this.#name,
      holderIdentity: hold.identity,
      leaseDurationSeconds: Math.ceil(hold.leaseDurationMs / 1_000),
      acquireTime: now,
      renewTime: now,
      leaseTransitions: Math.max(floor, epochSeen) + 1,
    };
    if (!held) return this.#store.create(leases, next);
    return this.#store.update(leases, { ...held, ...next });
  }

  /** Renews the lease. @throws StatusError Aborted: the lease was written meanwhile. */
  renew(held: Lease, { leaseDurationMs }: Hold): Promise<Lease> {
    const renewed = {
      ...held,
      leaseDurationSeconds: Math.ceil(leaseDurationMs / 1_000),
      renewTime: timestamp(this.#clock),
    };
    return this.#store.update(leases, renewed);
  }

  /**
   * Releases the lease, so that a successor need not wait; no-op if the term is over. A conflict is retried: a label
   * may have been written concurrently.
   */
  async release(term: Term, identity: string): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const held = await this.read();
      if (!this.isOf(term, identity, held)) return;
      const free = { ...held, holderIdentity: '', leaseDurationSeconds: 1 };
      try {
        await this.#store.update(leases, free);
        return;
      } catch (error) {
        if (!hasCode(error, 'Aborted') || tries >= releaseTriesMax) throw error;
        // The competing write may not be durable yet: wait until reads show it.
        await this.#store.transact([]);
      }
    }
  }
}
