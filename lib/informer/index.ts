/**
 * Shared informers: a local, indexed, consistent view of one kind. They define {@link ListWatch}, the view of a
 * source, and depend on neither store nor transport.
 */
export { SharedInformer } from './informer.js';
export type { HandlerOptions, HandlerRegistration, InformerOptions } from './informer-options.js';
export type { InformerHealth } from './watch-progress.js';
export type {
  EventHandler,
  Notification,
  NotificationHandler,
  Tombstone,
} from './handler-buffer.js';
export type { IndexFault, Lister } from './indexer.js';
