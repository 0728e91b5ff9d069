import { KeyedQueue } from './keyed-queue.js';

const queue = new KeyedQueue();

/**
 * Runs pieces of work about one thing one after another, in the order of the calls, within this process.
 * Work about different keys is not held up. A piece that fails does not keep the next one from running.
 */
export function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
  return queue.run(key, work);
}
