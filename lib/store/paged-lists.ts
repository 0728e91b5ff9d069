import { type Clock, invalid, limits, type Random, StatusError, TimeSlice } from '../base/index.js';
import type { ApiObject } from '../object/index.js';
import { type LazyObject } from './lazy-object.js';
import { Selection, type SelectionOptions } from './selection.js';
import type { ListOptions, ListResult } from './store.js';

/** A kind's entries at one revision. */
export interface ListSnapshot {
  readonly kind: string;
  readonly revision: number;
  readonly chunks: readonly (readonly LazyObject[])[];
}

interface Kept extends ListSnapshot {
  readonly selection: Selection;
  usedAt: number;
}

/** How much a page may hold. */
type PageSize = Pick<ListOptions, 'limit' | 'pageBytes'>;

/** Where a page begins. */
interface Position {
  readonly chunk: number;
  readonly offset: number;
}

/**
 * Lists at one revision, also over several pages: the rest of a paged list stays as it was. What is
 * kept is one reference a chunk; at most `limits.pagedListsMax` lists, dropped when idle.
 */
export class PagedLists {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** The first page, or everything without a bound. */
  async first<T extends ApiObject>(
    snapshot: ListSnapshot,
    options: SelectionOptions,
    page: PageSize,
  ): Promise<ListResult<T>> {
    const selection = new Selection(options);
    const kept = { ...snapshot, selection, usedAt: this.#clock.monotonic() };
    const bounded = page.limit !== undefined || page.pageBytes !== undefined;
    const limit = Math.min(page.limit ?? Infinity, bounded ? limits.pageSizeMax : Infinity);
    const start = { chunk: 0, offset: 0 };
    const { items, next } = await this.#take<T>(kept, start, { ...page, limit });
    if (!next) return { items, revision: snapshot.revision, nextPageToken: '' };
    this.#expire();
    const id = this.#random.uuid();
    this.#kept.set(id, kept);
    return { items, revision: snapshot.revision, nextPageToken: token(id, next) };
  }

  /** The page a token stands for. @throws StatusError InvalidArgument, OutOfRange (PageTokenExpired) */
  async next<T extends ApiObject>(
    text: string,
    kind: string,
    page: PageSize,
  ): Promise<ListResult<T>> {
    const [, id, chunk, offset] =
      /^([0-9a-f-]{36}):(\d{1,9}):(\d{1,9})$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
    if (id === undefined)
      throw invalid([
        { field: 'pageToken', description: 'is not a token of this list; start again without one' },
      ]);
    const kept = this.#kept.get(id);
    if (kept?.kind !== kind)
      throw new StatusError({
        code: 'OutOfRange',
        reason: 'PageTokenExpired',
        message: 'pageToken is no longer valid; start the list again without one',
      });
    kept.usedAt = this.#clock.monotonic();
    const sizeDefault = page.pageBytes === undefined ? limits.pageSizeDefault : Infinity;
    const limit = Math.min(page.limit ?? sizeDefault, limits.pageSizeMax);
    const start = { chunk: Number(chunk), offset: Number(offset) };
    const { items, next } = await this.#take<T>(kept, start, { ...page, limit });
    return { items, revision: kept.revision, nextPageToken: next ? token(id, next) : '' };
  }

  /** As many chosen objects as the page holds, and where the next chosen one stands. */
  async #take<T extends ApiObject>(
    { chunks, selection }: Kept,
    start: Position,
    { limit = Infinity, pageBytes = Infinity }: PageSize,
  ): Promise<{ readonly items: readonly T[]; readonly next: Position | undefined }> {
    const slice = new TimeSlice(this.#clock);
    const items: T[] = [];
    let offset = start.offset;
    let bytes = 0;
    for (let chunk = start.chunk; chunk < chunks.length; chunk += 1) {
      const entries = chunks[chunk] ?? [];
      for (; offset < entries.length; offset += 1) {
        const entry = entries[offset];
        if (entry && selection.has(entry)) {
          bytes += entry.size;
          const full = items.length >= limit || (bytes > pageBytes && items.length > 0);
          if (full) return { items, next: { chunk, offset } };
          items.push(entry.object as T);
        }
        if (slice.due()) await slice.pause();
      }
      offset = 0;
    }
    return { items, next: undefined };
  }

  #expire(): void {
    const oldest = this.#clock.monotonic() - limits.pagedListIdleMs;
    for (const [id, kept] of this.#kept) if (kept.usedAt < oldest) this.#kept.delete(id);
    for (const id of this.#kept.keys()) {
      if (this.#kept.size < limits.pagedListsMax) break;
      this.#kept.delete(id);
    }
  }
}

function token(id: string, { chunk, offset }: Position): string {
  return Buffer.from(`${id}:${chunk}:${offset}`).toString('base64url');
}
