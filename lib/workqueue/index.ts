/**
 * Work queues for controllers.
 *
 * - Stingy: a key added many times before it is handed out is processed once.
 * - Exclusive: one worker per key; a key added while it is processed comes back once.
 * - Ordered: higher priority first, oldest first within one; lower ones keep a share, so none starves.
 * - Fair, with `groupOf`: groups of keys are served round-robin; with `groupConcurrency` each has a maximum in process.
 * - Ends: a shutdown ends all waiting calls; a drain hands out everything queued, within a deadline.
 *
 * Not guaranteed: the order of keys whose delays end at the same instant.
 */
export { WorkQueue } from './queue.js';
export type { DrainReport, Handout, WorkQueueOptions } from './queue-options.js';
export { isPriority, priorityMax } from './key-code.js';
export { RateLimitingQueue, type RateLimitingQueueOptions } from './delaying-queue.js';
export {
  defaultBackoff,
  ItemBackoff,
  type RateLimiter,
  slowestOf,
  TokenBucket,
  type TokenBucketOptions,
} from './rate-limiter.js';
