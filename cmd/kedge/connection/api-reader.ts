import { hasCode, parseKey } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import {
  explain,
  type Explanation,
  gather,
  isSettledStatus,
  type Readable,
  type Reader,
  type Subject,
  type ReportedEvent,
} from '@kedge/controllers/cause';
import { events } from '@kedge/controllers/kinds';
import { declaredCredentials } from '@kedge/drivers';
import { kindNamed } from './api.js';

/**
 * Resolves to `otherwise` if the caller may not read an object or it does not exist, so that the other objects are
 * still explained.
 */
async function readable<T>(read: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (hasCode(error, 'PermissionDenied') || hasCode(error, 'NotFound')) return otherwise;
    throw error;
  }
}

/** Reads objects for explanations, with the rights of the caller. */
export function apiReader(client: ApiClient): Reader {
  return {
    credentials: declaredCredentials,
    get: async <K extends keyof Readable>(kind: K, key: string) => {
      try {
        const found: unknown = await client.resource(kindNamed(kind)).get(parseKey(key));
        return (found as Readable[K] | undefined) ?? 'NotFound';
      } catch (error) {
        if (hasCode(error, 'NotFound')) return 'NotFound';
        if (hasCode(error, 'PermissionDenied')) return undefined;
        throw error;
      }
    },
    list: async <K extends keyof Readable>(kind: K, namespace: string) => {
      const known = kindNamed(kind);
      const within = known.scope === 'Cluster' ? {} : { namespace };
      const found = await readable(client.resource(known).list(within), undefined);
      return (found?.items ?? []) as readonly unknown[] as readonly Readable[K][];
    },
  };
}

async function eventsOf(
  client: ApiClient,
  { kind, object }: Subject,
): Promise<readonly ReportedEvent[]> {
  const namespace = 'namespace' in object ? object.namespace : 'default';
  const fieldSelector = `regarding.kind=${kind},regarding.name=${object.name}`;
  const found = await readable(
    client.resource(events).list({ namespace, fieldSelector }),
    undefined,
  );
  return [...(found?.items ?? [])].sort((a, b) => b.lastSeenAt.localeCompare(a.lastSeenAt));
}

/**
 * The problem of an object; undefined without one. Events are read only if the objects do not explain a state that is
 * not settled.
 */
export async function explainRemote(
  client: ApiClient,
  subject: Subject,
): Promise<Explanation | undefined> {
  const world = await gather(apiReader(client), subject);
  const found = explain(subject, world);
  if (found || isSettledStatus(subject.object.status)) return found;
  return explain(subject, world, await eventsOf(client, subject));
}
