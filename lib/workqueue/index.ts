/**
 * Work queues for controllers.
 *
 * - Stingy: a key added many times before it is handed out is worked on once.
 * - Exclusive: one worker a key; a key added while it is processed comes back exactly once, at the tail.
 * - Ordered: higher priority first, oldest first within one; lower ones keep a share, so none starves.
 * - Fair, where asked: groups of keys take turns.
 * - Ends: shutdown releases everyone who waits; a drain hands out everything queued, within a deadline.
 *
 * Not promised: anything about the order of keys added at different delays for the same instant.
 */
export {
  WorkQueue,
  type DrainReport,
  type Handout,
  isPriority,
  priorityMax,
  type WorkQueueOptions,
} from './queue.js';
export { RateLimitingQueue, type RateLimitingQueueOptions } from './delaying-queue.js';
export {
  defaultBackoff,
  ItemBackoff,
  type RateLimiter,
  slowestOf,
  TokenBucket,
  type TokenBucketOptions,
} from './rate-limiter.js';
