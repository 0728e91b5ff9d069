import type { Event } from 'kedge';
import { hasCode, parseKey } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import {
  type Explanation,
  newestFirst,
  type Readable,
  type Reader,
  readExplanation,
  refusalReasons,
  type Subject,
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

/** The problem of an object; undefined without one. Events are read unless the objects explain it without a wait. */
export function explainRemote(
  client: ApiClient,
  subject: Subject,
): Promise<Explanation | undefined> {
  const eventsWhere = async (namespace: string, fieldSelector: string): Promise<readonly Event[]> =>
    (await readable(client.resource(events).list({ namespace, fieldSelector }), undefined))
      ?.items ?? [];
  return readExplanation(apiReader(client), eventsWhere, subject);
}

/** The events by which refusals of reconciles begin and end, of all objects, newest first. */
export async function refusalsOf(client: ApiClient): Promise<readonly Event[]> {
  const lists = Object.values(refusalReasons).map((reason) =>
    client.resource(events).list({ namespace: '-', fieldSelector: `reason=${reason}` }),
  );
  const found = await Promise.all(lists.map((list) => readable(list, undefined)));
  return newestFirst(found.flatMap((list) => list?.items ?? []));
}
