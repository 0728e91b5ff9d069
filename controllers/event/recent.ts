import type { ApiObject } from 'kedge';
import type { ApiParts } from 'kedge/server';
import { events } from './kind.js';

const shownMax = 20;

/** The latest events about an object for descriptions, newest first. */
export async function recentEvents(
  { store }: ApiParts,
  object: ApiObject,
): Promise<readonly object[]> {
  const { uid } = object.metadata;
  const { items } = await store.list(events, {
    namespace: object.namespace ?? 'default',
    fields: (event) => (event as { regarding?: { uid?: string } }).regarding?.uid === uid,
  });
  return [...items]
    .sort((a, b) => b.lastSeenAt.localeCompare(a.lastSeenAt))
    .slice(0, shownMax)
    .map(({ type, reason, message, count, lastSeenAt, source }) => ({
      type,
      reason,
      message,
      count,
      lastSeenAt,
      source,
    }));
}
