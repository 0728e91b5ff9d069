import { expect } from 'chai';
import type { Clock, Timer } from 'kedge';
import type { FakeKernel } from './fake-kernel.js';
import type { WorkloadPort } from './machine.js';

interface Workload {
  readonly uid: string;
  readonly target: string;
}

/** Interval between the steps of a workload, milliseconds. */
const everyMs = 170;

/**
 * Workloads that continuously write into their volumes, each record to a first place and then to a second one.
 * A record in both is acknowledged. They survive daemons.
 */
export class Workloads implements WorkloadPort {
  readonly #kernel: FakeKernel;
  readonly #running = new Map<string, Workload>();
  readonly #acknowledged = new Map<string, number>();
  readonly #clock: Clock;
  #timer: Timer | undefined;

  constructor(kernel: FakeKernel, clock: Clock) {
    this.#kernel = kernel;
    this.#clock = clock;
  }

  #next(): Timer {
    return this.#clock.setTimer(() => {
      this.#timer = this.#running.size > 0 ? this.#next() : undefined;
      for (const [claim, workload] of this.#running) this.#write(claim, workload);
    }, everyMs);
  }

  #write(claim: string, { uid, target }: Workload): void {
    const outcome = this.#kernel.write(target);
    if (outcome === 'lost') this.#kernel.wrongs.push(`${claim} lost its volume at ${target}`);
    if (outcome === 'written') this.#acknowledged.set(uid, this.acknowledged(uid) + 1);
  }

  /** The number of records of a volume that were acknowledged to a workload. */
  acknowledged(uid: string): number {
    return this.#acknowledged.get(uid) ?? 0;
  }

  /**
   * Sets the initial number of acknowledged records of a volume, unless one is known: a restored volume starts with
   * those of its snapshot.
   */
  begins(uid: string, records: number): void {
    if (!this.#acknowledged.has(uid)) this.#acknowledged.set(uid, records);
  }

  start(claim: string, uid: string, target: string): void {
    const other = [...this.#running].find(([who, { uid: has }]) => has === uid && who !== claim);
    expect(other?.[0], `who else writes to ${uid} beside ${claim}`).to.equal(undefined);
    this.#running.set(claim, { uid, target });
    this.#kernel.users.add(target);
    this.#timer ??= this.#next();
  }

  stop(claim: string): Promise<void> {
    const workload = this.#running.get(claim);
    this.#running.delete(claim);
    if (workload) this.#kernel.users.delete(workload.target);
    return Promise.resolve();
  }

  get running(): ReadonlyMap<string, Workload> {
    return this.#running;
  }
}
