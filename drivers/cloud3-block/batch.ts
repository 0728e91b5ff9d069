import { DriverError } from '@kedge/driver-sdk';
import type { Ec2Caller } from './parameters.js';

/** Maximum number of values of one filter at the provider. */
const valuesMax = 200;

interface Waiting<T> {
  readonly value: string;
  readonly caller: Ec2Caller;
  readonly resolve: (found: readonly T[]) => void;
  readonly reject: (error: unknown) => void;
}

/** The reads with one credential: one request at a time, and the reads that wait for the next one. */
interface Lane<T> {
  waiting: Waiting<T>[];
  isRunning: boolean;
}

/** Reads the entries for several values of a filter, grouped by value. */
export type ReadMany<T> = (
  caller: Ec2Caller,
  values: readonly string[],
  about: readonly string[],
) => Promise<ReadonlyMap<string, readonly T[]>>;

/**
 * Joins reads of several volumes into one request: while one request with a credential is under way, further reads wait
 * for it and then share the next one. A read with nothing under way starts at once.
 */
export class BatchedReads<T> {
  readonly #read: ReadMany<T>;
  readonly #lanes = new Map<string, Lane<T>>();

  constructor(read: ReadMany<T>) {
    this.#read = read;
  }

  /**
   * The entries of one value. Resolves or rejects with the shared request, and rejects when the caller is aborted.
   * @param lane reads of one lane share requests; it identifies the credential
   */
  of(lane: string, caller: Ec2Caller, value: string): Promise<readonly T[]> {
    const found = this.#lanes.get(lane) ?? { waiting: [], isRunning: false };
    this.#lanes.set(lane, found);
    const { signal } = caller;
    const ended = new AbortController();
    const read = new Promise<readonly T[]>((resolve, reject) => {
      found.waiting.push({ value, caller, resolve, reject });
      const cancel = (): void => {
        reject(new DriverError('Timeout', 'DescribeVolumes at Amazon EBS was cancelled'));
      };
      signal.addEventListener('abort', cancel, { once: true, signal: ended.signal });
      if (signal.aborted) cancel();
    }).finally(() => {
      // The signal of a caller outlives its reads.
      ended.abort();
    });
    // Reads of the same turn of the event loop share a request.
    if (!found.isRunning) {
      found.isRunning = true;
      setImmediate(() => void this.#run(lane, found));
    }
    return read;
  }

  async #run(name: string, lane: Lane<T>): Promise<void> {
    while (lane.waiting.length > 0) {
      const batch = lane.waiting
        .splice(0, valuesMax)
        .filter(({ caller }) => !caller.signal.aborted);
      const [first] = batch;
      if (first) await this.#share(first.caller, batch);
    }
    lane.isRunning = false;
    this.#lanes.delete(name);
  }

  async #share(caller: Ec2Caller, batch: readonly Waiting<T>[]): Promise<void> {
    // One cancelled caller does not end the request of the others; its own read ends without it.
    const signal = batch.length === 1 ? caller.signal : new AbortController().signal;
    const values = [...new Set(batch.map(({ value }) => value))];
    const about = [...new Set(batch.map((one) => one.caller.about))];
    try {
      const found = await this.#read({ ...caller, signal }, values, about);
      for (const { value, resolve } of batch) resolve(found.get(value) ?? []);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
