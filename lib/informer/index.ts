/**
 * Shared informers: a local, indexed, always consistent view of one kind.
 * They own the {@link ListWatch} view of a source and know neither store nor transport.
 */
export { SharedInformer, type HandlerRegistration, type InformerOptions } from './informer.js';
export type {
  EventHandler,
  Notification,
  NotificationHandler,
  Tombstone,
} from './handler-buffer.js';
export type { Lister } from './indexer.js';
