import {
  type ApiObject,
  parseCursor,
  type WatchBatch,
  type WatchEvent,
} from '../../object/index.js';
import { isJsonObject, type JsonObject, textOf } from '../../rpc/index.js';

/** A batch with the server's cursor to resume. */
export type RemoteBatch<T extends ApiObject> = WatchBatch<T> & { readonly cursor: string };

/**
 * Converts an answer of a Watch method to a batch.
 * @throws StatusError InvalidArgument if it has no cursor
 */
export function batchOf<T extends ApiObject>(answer: JsonObject): RemoteBatch<T> {
  const cursor = textOf(answer, 'resourceVersion');
  const given = Array.isArray(answer.events) ? answer.events.filter(isJsonObject) : [];
  const events = given.map(({ type, object }) => {
    const revision = Number((object as ApiObject).metadata.resourceVersion);
    return { type, object, revision } as WatchEvent<T>;
  });
  return { revision: parseCursor(cursor).revision, cursor, events };
}
