import { type Clock, TimeSlice } from '../../base/index.js';
import { type ApiObject, type Kind, formatCursor } from '../../object/index.js';
import type { JsonObject } from '../../rpc/index.js';
import type { ListOptions, ObjectStore } from '../../store/index.js';
import type { Identity } from '../auth/index.js';

/** The scope of a list, its caller and the form of its objects. */
export type ListRequest = ListOptions & {
  readonly caller: string;
  /** Returns whether the caller may see an object; undefined: the caller sees all objects. */
  readonly visible: ((object: ApiObject) => boolean | Promise<boolean>) | undefined;
  readonly show: (object: ApiObject) => JsonObject;
  readonly clock: Clock;
};

/** The owner of a list: another account of the same name is another owner. */
export function listCaller({ uid, kind, subject }: Identity): string {
  return uid ?? `${kind}:${subject}`;
}

/** The answer of a List method: a page, filtered by the present access of the caller. */
export async function listResource(
  store: ObjectStore,
  kind: Kind,
  { visible, show, clock, ...options }: ListRequest,
): Promise<JsonObject> {
  // Tens of thousands of objects are converted in slices, so that other calls get their turns.
  const slice = new TimeSlice(clock, { everyStep: true });
  const list = await store.list(kind, options);
  const items: JsonObject[] = [];
  for (const item of list.items) {
    if (slice.due()) await slice.pause();
    if (!visible || (await visible(item))) items.push(show(item));
  }
  const resourceVersion = list.cursor ?? formatCursor(list.revision, store.storeId);
  return { items, resourceVersion, nextPageToken: list.nextPageToken };
}
