import type { Event } from 'kedge';
import { hasCode, parseKey } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import {
  explain,
  type Explanation,
  gather,
  type Readable,
  type Reader,
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

async function eventsWhere(
  client: ApiClient,
  { object }: Subject,
  fieldSelector: string,
): Promise<readonly Event[]> {
  const namespace = 'namespace' in object ? object.namespace : 'default';
  const request = { namespace, fieldSelector };
  return (await readable(client.resource(events).list(request), undefined))?.items ?? [];
}

/** The events that may explain an object, newest first: its own, and for a service the refusals of its instances. */
async function eventsOf(client: ApiClient, subject: Subject): Promise<readonly Event[]> {
  const { kind, object } = subject;
  const own = `regarding.kind=${kind},regarding.name=${object.name}`;
  const ofInstances = Object.values(refusalReasons).map(
    (reason) => `regarding.kind=Instance,reason=${reason}`,
  );
  const selectors = kind === 'Service' ? [own, ...ofInstances] : [own];
  const found = await Promise.all(
    selectors.map((selector) => eventsWhere(client, subject, selector)),
  );
  return found.flat().sort((a, b) => b.lastSeenAt.localeCompare(a.lastSeenAt));
}

/** The problem of an object; undefined without one. Events are read unless the objects explain it without a wait. */
export async function explainRemote(
  client: ApiClient,
  subject: Subject,
): Promise<Explanation | undefined> {
  const world = await gather(apiReader(client), subject);
  const found = explain(subject, world);
  if (found && found.remedy?.type !== 'wait') return found;
  return explain(subject, world, await eventsOf(client, subject));
}
