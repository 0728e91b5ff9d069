import { expect } from 'chai';
import type { Clock, Timer } from 'kedge';
import type { FakeKernel } from './fake-kernel.js';
import type { WorkloadPort } from './machine.js';

interface Workload {
  readonly uid: string;
  readonly target: string;
}

/** How often a workload does something, milliseconds. */
const everyMs = 170;

/**
 * Workloads that write into their volumes all the time, each record to a first place and then to a second one; a record
 * is acknowledged when it is in both. They outlive daemons.
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

  /** How many records of a volume a workload was told to be there. */
  acknowledged(uid: string): number {
    return this.#acknowledged.get(uid) ?? 0;
  }

  /** What a volume that was made of a snapshot has from the beginning. */
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
