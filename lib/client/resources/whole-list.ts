import { hasCode } from '../../base/index.js';
import type { ApiObject } from '../../object/index.js';
import { type JsonObject, textOf } from '../../rpc/index.js';

/** All objects of a selection at one revision. */
export interface ResourceList<T extends ApiObject> {
  readonly items: readonly T[];
  readonly revision: number;
  /** The revision as a cursor with the store's id, to watch from. */
  readonly cursor: string;
}

/** All items of a paged list, and the cursor to watch from. */
export interface WholeList {
  readonly items: readonly JsonObject[];
  readonly cursor: string;
}

/**
 * Fetches a list page by page, all pages at one revision. If the server no longer has the remaining pages
 * (PageTokenExpired, for example because it restarted), the fetched pages are dropped and the list restarts, once.
 * @param fetchPage requests the page of a token; the first page has the empty token
 */
export async function wholeList(
  fetchPage: (pageToken: string) => Promise<JsonObject>,
): Promise<WholeList> {
  try {
    return await allPages(fetchPage);
  } catch (error) {
    if (!hasCode(error, 'OutOfRange') || error.reason !== 'PageTokenExpired') throw error;
    return allPages(fetchPage);
  }
}

async function allPages(fetchPage: (pageToken: string) => Promise<JsonObject>): Promise<WholeList> {
  const items: JsonObject[] = [];
  for (let pageToken = ''; ; ) {
    const page = await fetchPage(pageToken);
    for (const item of (page.items ?? []) as readonly JsonObject[]) items.push(item);
    pageToken = textOf(page, 'nextPageToken');
    if (pageToken === '') return { items, cursor: textOf(page, 'resourceVersion') };
  }
}
