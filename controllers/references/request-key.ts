import type { ObjectKey } from 'kedge';
import type { JsonObject } from 'kedge/rpc';

/** The key of the namespaced object that a request names. */
export function requestKey({ namespace, name }: JsonObject): Required<ObjectKey> {
  return { namespace: String(namespace), name: String(name) };
}
