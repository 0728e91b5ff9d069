import type { AnyKind, StatusError } from 'kedge';
import type { ApiClient } from 'kedge/client';
import { isJsonObject, textOf } from 'kedge/rpc';
import { allKinds } from '@kedge/controllers/kinds';
import { nearest } from '../../near-miss.js';
import { connect, methodFor } from './api.js';

/** Short timeout: the error waits for the hint. */
const timeoutMs = 2_000;
/** Storage classes in a hint. */
const classesMax = 10;

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

function classesText(names: readonly string[]): string {
  if (names.length === 0) return 'there is no storage class; create one';
  const more = names.length > classesMax ? ', ...' : '';
  return `storage classes: ${names.slice(0, classesMax).join(', ')}${more}`;
}

async function suggestion(
  client: ApiClient,
  kinds: readonly AnyKind[],
  { namespace = '', name }: { readonly namespace?: string; readonly name: string },
): Promise<string> {
  const all = async (where: string): Promise<Awaited<ReturnType<typeof named>>> =>
    (await Promise.all(kinds.map((kind) => named(client, kind, where)))).flat();
  const beside = (await all(namespace)).map((object) => object.name);
  // The object may have been created meanwhile.
  const meant = beside.includes(name) ? undefined : nearest(name, beside);
  if (meant !== undefined) return `did you mean ${meant}?`;
  // A cluster has few of them, and a command often takes one that the user did not create.
  if (kinds.every(({ kind }) => kind === 'StorageClass')) return classesText(beside);
  if (namespace === '') return '';
  const elsewhere = (await all('-')).find(
    (object) => object.name === name && object.namespace !== namespace,
  );
  return elsewhere
    ? `an object of this name exists in another namespace: add -n ${elsewhere.namespace}`
    : '';
}

/** A suggestion for a missing object; empty without one, and for any other error. Never rejects. */
export async function nearNames(error: StatusError): Promise<string> {
  // Some errors refer to two kinds: "Instance or Service".
  const words = error.resource?.kind.split(' or ') ?? [];
  const kinds = allKinds.filter(({ kind }) => words.includes(kind));
  if (error.code !== 'NotFound' || !error.resource || kinds.length === 0) return '';
  // Some errors already contain a suggestion.
  if (error.message.includes('did you mean')) return '';
  try {
    const client = await connect();
    try {
      return await suggestion(client, kinds, error.resource);
    } finally {
      client.close();
    }
  } catch {
    // Without the right to list, after a timeout or without a connection there is no hint; the error is shown anyway.
    return '';
  }
}
