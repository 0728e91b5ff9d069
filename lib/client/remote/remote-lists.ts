import { type ApiObject, type Kind, parseCursor } from '../../object/index.js';
import { type JsonObject, textOf } from '../../rpc/index.js';
import type { ListOptions, ListResult } from '../../store/index.js';
import { objectFrom } from './remote-objects.js';
import { isSelected, remoteScope, remoteSelection } from './remote-selection.js';
import { isGone, restartsMax } from './remote-restarts.js';

/** Lists of a store in another process. */
export class RemoteLists {
  readonly #read: (request: JsonObject, signal?: AbortSignal) => Promise<JsonObject>;

  /** @param read requests a page at the newest revision that this process has seen */
  constructor(read: (request: JsonObject, signal?: AbortSignal) => Promise<JsonObject>) {
    this.#read = read;
  }

  /**
   * Fetches one page if `options` has a limit, a page size or a page token, else all pages. An expired list of all
   * pages is restarted, up to three times.
   */
  async list<T extends ApiObject>(kind: Kind<T>, options: ListOptions): Promise<ListResult<T>> {
    const { limit, pageBytes, pageToken } = options;
    const bounded = limit !== undefined || pageBytes !== undefined || Boolean(pageToken);
    if (bounded) return this.#page(kind, options);
    for (let restarts = 0; ; restarts += 1) {
      try {
        return await this.whole(kind, options);
      } catch (error) {
        if (!isGone(error) || restarts >= restartsMax) throw error;
      }
    }
  }

  /** Fetches all pages of one list. @throws StatusError OutOfRange if the server no longer has the remaining pages */
  async whole<T extends ApiObject>(
    kind: Kind<T>,
    options: ListOptions,
    signal?: AbortSignal,
  ): Promise<ListResult<T>> {
    const items: T[] = [];
    let page = await this.#page(kind, options, signal);
    for (;;) {
      for (const item of page.items) items.push(item);
      if (page.nextPageToken === '') return { ...page, items };
      page = await this.#page(kind, { ...options, pageToken: page.nextPageToken }, signal);
    }
  }

  /**
   * Fetches one page. If a selector is a function of this process, requests are repeated until the page is full or the
   * list ends.
   */
  async #page<T extends ApiObject>(
    kind: Kind<T>,
    options: ListOptions,
    signal?: AbortSignal,
  ): Promise<ListResult<T>> {
    const { limit, pageBytes } = options;
    const { texts, local } = remoteSelection(options);
    const items: T[] = [];
    let pageToken = options.pageToken ?? '';
    for (;;) {
      const request = {
        kind: kind.kind,
        ...remoteScope(kind, options),
        ...texts,
        limit: limit === undefined ? 0 : limit - items.length,
        pageBytes: pageBytes ?? 0,
        pageToken,
      };
      const answer = await this.#read(request, signal);
      for (const text of answer.objects as readonly string[]) {
        const object = objectFrom<T>(text);
        if (!local || isSelected(local, object)) items.push(object);
      }
      pageToken = textOf(answer, 'nextPageToken');
      const full = limit === undefined ? items.length > 0 : items.length >= limit;
      if (pageToken !== '' && local && !full) continue;
      const cursor = textOf(answer, 'cursor');
      const { revision } = parseCursor(cursor);
      return { items, revision, cursor, nextPageToken: pageToken };
    }
  }
}
