import { type Clock, type Event, timestamp } from 'kedge';
import type { AdmissionRules } from 'kedge/server';

/** Retention time of events: one day. */
export const eventTtlMs = 24 * 3_600_000;

/** Rules of events from clients: the server sets the expiry, and missing times, counts and sources. */
export function eventRules(clock: Clock): AdmissionRules<Event> {
  return {
    castRefusal: "events are written by components and can't be cast; remove them from the file",
    prepare(_context, event, before) {
      const now = timestamp(clock);
      const { regarding } = event;
      const namespace = regarding.namespace ?? event.namespace;
      return Promise.resolve({
        ...event,
        regarding: {
          ...regarding,
          uid: regarding.uid ?? '',
          ...(namespace === undefined ? {} : { namespace }),
        },
        count: event.count || 1,
        firstSeenAt: event.firstSeenAt || before?.firstSeenAt || now,
        lastSeenAt: event.lastSeenAt || now,
        source: event.source || 'api',
        message: event.message ?? '',
        metadata: {
          ...event.metadata,
          expiresAt: new Date(clock.now() + eventTtlMs).toISOString(),
        },
      });
    },
    validate: (_context, event) =>
      Promise.resolve(
        /^[A-Z][A-Za-z0-9]*$/.test(event.reason)
          ? []
          : [
              {
                field: 'reason',
                description: `${JSON.stringify(event.reason)} must be one CamelCase word`,
              },
            ],
      ),
  };
}
