import { type Clock, invalid, limits, type Random, StatusError } from '../base/index.js';
import type { ApiObject } from '../object/index.js';
import type { ListResult } from './store.js';

interface Snapshot {
  readonly kind: string;
  readonly items: readonly ApiObject[];
  readonly revision: number;
  usedAt: number;
}

/**
 * Keeps the rest of a paged list at its revision, so that all pages show one moment.
 * Snapshots are lists of references; at most `limits.pagedListsMax`, dropped when idle.
 */
export class PagedLists {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #snapshots = new Map<string, Snapshot>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** The first page of `items`. */
  first<T extends ApiObject>(
    items: readonly T[],
    revision: number,
    kind: string,
    limit: number | undefined,
  ): ListResult<T> {
    const size = Math.min(limit ?? items.length, limits.pageSizeMax);
    if (limit === undefined || items.length <= size) return { items, revision, nextPageToken: '' };
    this.#expire();
    const id = this.#random.uuid();
    this.#snapshots.set(id, { kind, items, revision, usedAt: this.#clock.monotonic() });
    return this.#page<T>(id, 0, size, { kind, items, revision, usedAt: 0 });
  }

  /** The page a token stands for. */
  next<T extends ApiObject>(token: string, kind: string, limit: number | undefined): ListResult<T> {
    const [id = '', startText = ''] = Buffer.from(token, 'base64url').toString().split(':');
    const start = Number(startText);
    if (!/^[0-9a-f-]{36}$/.test(id) || !Number.isInteger(start))
      throw invalid([
        { field: 'pageToken', description: 'is not a token of this list; start again without one' },
      ]);
    const snapshot = this.#snapshots.get(id);
    if (snapshot?.kind !== kind)
      throw new StatusError({
        code: 'OutOfRange',
        reason: 'PageTokenExpired',
        message: 'pageToken is no longer valid; start the list again without one',
      });
    snapshot.usedAt = this.#clock.monotonic();
    const size = Math.min(limit ?? limits.pageSizeDefault, limits.pageSizeMax);
    return this.#page<T>(id, start, size, snapshot);
  }

  #page<T extends ApiObject>(
    id: string,
    start: number,
    size: number,
    snapshot: Snapshot,
  ): ListResult<T> {
    const end = start + size;
    const items = snapshot.items.slice(start, end) as unknown as readonly T[];
    if (end < snapshot.items.length) {
      const nextPageToken = Buffer.from(`${id}:${end}`).toString('base64url');
      return { items, revision: snapshot.revision, nextPageToken };
    }
    return { items, revision: snapshot.revision, nextPageToken: '' };
  }

  #expire(): void {
    const oldest = this.#clock.monotonic() - limits.pagedListIdleMs;
    for (const [id, snapshot] of this.#snapshots)
      if (snapshot.usedAt < oldest) this.#snapshots.delete(id);
    for (const id of this.#snapshots.keys()) {
      if (this.#snapshots.size < limits.pagedListsMax) break;
      this.#snapshots.delete(id);
    }
  }
}
