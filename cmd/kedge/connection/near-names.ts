import { type AnyKind, type StatusError } from 'kedge';
import type { ApiClient } from 'kedge/client';
import { isJsonObject, textOf } from 'kedge/rpc';
import { allKinds } from '@kedge/controllers/kinds';
import { nearest } from '../../near-miss.js';
import { connect, methodFor } from './api.js';

/** Whoever waits for a hint has the error already on the way to the screen. */
const timeoutMs = 2_000;

/** Names and namespaces of the first page: enough for a hint. */
async function named(
  client: ApiClient,
  kind: AnyKind,
  namespace: string,
): Promise<readonly { readonly name: string; readonly namespace: string }[]> {
  const request = { ...(kind.scope === 'Cluster' ? {} : { namespace }), limit: 500 };
  const { items } = await client.call(methodFor(kind, 'List'), request, { timeoutMs });
  const objects = Array.isArray(items) ? items.filter(isJsonObject) : [];
  return objects.map((o) => ({ name: textOf(o, 'name'), namespace: textOf(o, 'namespace') }));
}

async function lookFor(
  client: ApiClient,
  kinds: readonly AnyKind[],
  { namespace = '', name }: { readonly namespace?: string; readonly name: string },
): Promise<string> {
  const all = async (where: string): Promise<Awaited<ReturnType<typeof named>>> =>
    (await Promise.all(kinds.map((kind) => named(client, kind, where)))).flat();
  const beside = (await all(namespace)).map((object) => object.name);
  // It may have come into being meanwhile.
  const meant = beside.includes(name) ? undefined : nearest(name, beside);
  if (meant !== undefined) return `did you mean ${meant}?`;
  if (namespace === '') return '';
  const elsewhere = (await all('-')).find(
    (object) => object.name === name && object.namespace !== namespace,
  );
  return elsewhere ? `there is one in another namespace: add -n ${elsewhere.namespace}` : '';
}

/** What somebody who named an object that is not there may have meant, or nothing. */
export async function nearNames(error: StatusError): Promise<string> {
  // Some refusals are about either of two kinds: "Instance or Service".
  const words = error.resource?.kind.split(' or ') ?? [];
  const kinds = allKinds.filter(({ kind }) => words.includes(kind));
  if (error.code !== 'NotFound' || !error.resource || kinds.length === 0) return '';
  // Several refusals say it by themselves.
  if (error.message.includes('did you mean')) return '';
  try {
    const client = await connect();
    try {
      return await lookFor(client, kinds, error.resource);
    } finally {
      client.close();
    }
  } catch {
    // Who may not list gets no hint; the error itself is told all the same.
    return '';
  }
}
