import { KeyedQueue } from './keyed-queue.js';

/** The work queue of this process. */
export const turns = new KeyedQueue();

/**
 * Serializes work per key within this process, in the order of the calls. Other keys are not delayed, and a failure
 * does not stop later work.
 */
export function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
  return turns.run(key, work);
}
