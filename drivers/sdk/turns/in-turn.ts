import { KeyedQueue } from './keyed-queue.js';

/** Work of this process, by what it is about. */
export const turns = new KeyedQueue();

/**
 * Runs pieces of work about one thing one after another, in the order of the calls, within this process.
 * Work about different keys is not held up. A piece that fails does not keep the next one from running.
 */
export function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
  return turns.run(key, work);
}
