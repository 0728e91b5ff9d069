import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  type Clock,
  type FieldViolation,
  invalid,
  limits,
  type Random,
  StatusError,
  TimeSlice,
} from '../../base/index.js';
import type { ApiObject } from '../../object/index.js';
import { type Keepable, KeptLists, type ListSnapshot } from './kept-lists.js';
import { Selection, type SelectionOptions } from './selection.js';
import type { IndexSelection, ListBounds, ListResult } from '../contract/reads.js';

/** The selection and caller of a list; the same for all of its pages. */
export type ListSubject = SelectionOptions & Pick<ListBounds, 'caller'> & IndexSelection;

interface PagedList extends Keepable {
  readonly subject: ListSubject;
  readonly selection: Selection;
  /** Secret of the signatures of its tokens. */
  readonly secret: string;
}

/** The limits of a page. */
type PageSize = Pick<ListBounds, 'limit' | 'pageBytes'>;

/** The start of a page. */
interface Position {
  readonly chunk: number;
  readonly offset: number;
}

const tokenForm = /^([0-9a-f-]{36}):(\d{1,9}):(\d{1,9}):([\w-]{22})$/;
const signatureBytes = 16;

/**
 * Lists at one revision, also across several pages: the rest of a paged list is unaffected by writes.
 *
 * A page token names a kept list and a page of it. It is signed with a secret of that list, so that it can't be forged,
 * and is valid only for the same kind, namespace, index, selectors and caller. Using it again returns the same page, if
 * the size is the same.
 */
export class PagedLists {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #kept: KeptLists<PagedList>;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
    this.#kept = new KeptLists(clock);
  }

  /** See {@link KeptLists.noteReplaced}. */
  noteReplaced(kind: string, bytes: number): void {
    this.#kept.noteReplaced(kind, bytes);
  }

  /**
   * The first page, or all objects without a limit.
   * @throws StatusError InvalidArgument
   */
  async first<T extends ApiObject>(
    snapshot: ListSnapshot,
    subject: ListSubject,
    page: PageSize,
  ): Promise<ListResult<T>> {
    requirePageSize(page);
    const list: PagedList = {
      ...snapshot,
      caller: subject.caller,
      replacedBefore: this.#kept.replacedOf(snapshot.kind),
      subject,
      selection: new Selection(subject),
      secret: this.#random.uuid(),
    };
    const bounded = page.limit !== undefined || page.pageBytes !== undefined;
    const limit = Math.min(page.limit ?? Infinity, bounded ? limits.pageSizeMax : Infinity);
    const start = { chunk: 0, offset: 0 };
    const { items, next } = await this.#take<T>(list, start, { ...page, limit });
    if (!next) return { items, revision: snapshot.revision, nextPageToken: '' };
    const name = this.#random.uuid();
    this.#kept.keep(name, list);
    return { items, revision: snapshot.revision, nextPageToken: tokenOf(name, next, list.secret) };
  }

  /**
   * The page of a token.
   * @throws StatusError InvalidArgument, OutOfRange (PageTokenExpired)
   */
  async next<T extends ApiObject>(
    token: string,
    kind: string,
    subject: ListSubject,
    page: PageSize,
  ): Promise<ListResult<T>> {
    requirePageSize(page);
    const [, name, chunk, offset, signature = ''] =
      tokenForm.exec(Buffer.from(token, 'base64url').toString()) ?? [];
    if (name === undefined) throw notOfThisList();
    const list = this.#kept.use(name);
    if (!list)
      throw new StatusError({
        code: 'OutOfRange',
        reason: 'PageTokenExpired',
        message: 'pageToken is no longer valid; start the list again without one',
      });
    const start = { chunk: Number(chunk), offset: Number(offset) };
    const signed = timingSafeEqual(
      Buffer.from(signature),
      Buffer.from(signatureOf(name, start, list.secret)),
    );
    if (!signed || list.kind !== kind || !isSameList(list.subject, subject)) throw notOfThisList();
    const sizeDefault = page.pageBytes === undefined ? limits.pageSizeDefault : Infinity;
    const limit = Math.min(page.limit ?? sizeDefault, limits.pageSizeMax);
    const { items, next } = await this.#take<T>(list, start, { ...page, limit });
    const nextPageToken = next ? tokenOf(name, next, list.secret) : '';
    return { items, revision: list.revision, nextPageToken };
  }

  /** Returns the selected objects of the page, and the position of the next page. */
  async #take<T extends ApiObject>(
    { chunks, selection }: PagedList,
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
}

/**
 * Checks the size of a page: pages without objects would never reach the end.
 * @throws StatusError InvalidArgument for a size below 1
 */
function requirePageSize({ limit, pageBytes }: PageSize): void {
  const violations: FieldViolation[] = [];
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0))
    violations.push({
      field: 'limit',
      description: `is ${limit}; give a whole number, 1 or more, or omit it for all objects`,
    });
  if (pageBytes !== undefined && !(pageBytes > 0))
    violations.push({
      field: 'pageBytes',
      description: `is ${pageBytes}; give bytes, 1 or more, or omit it`,
    });
  if (violations.length > 0) throw invalid(violations);
}

function notOfThisList(): StatusError {
  const description =
    'is not a token of this list: it is bound to the kind, namespace, index, selectors and caller of its list; use the same ones, or start again without a token';
  return invalid([{ field: 'pageToken', description }]);
}

function signatureOf(name: string, { chunk, offset }: Position, secret: string): string {
  const digest = createHmac('sha256', secret).update(`${name}:${chunk}:${offset}`).digest();
  return digest.subarray(0, signatureBytes).toString('base64url');
}

function tokenOf(name: string, position: Position, secret: string): string {
  const signature = signatureOf(name, position, secret);
  const text = `${name}:${position.chunk}:${position.offset}:${signature}`;
  return Buffer.from(text).toString('base64url');
}

function isSameList(one: ListSubject, other: ListSubject): boolean {
  return (
    one.caller === other.caller &&
    one.namespace === other.namespace &&
    one.index === other.index &&
    one.value === other.value &&
    isSameSelector(one.labels, other.labels) &&
    isSameSelector(one.fields, other.fields)
  );
}

interface Selector {
  readonly text?: string;
}

/** Whether selectors are equal. Functions without text can't be compared: those of the first page apply. */
function isSameSelector(one: Selector | undefined, other: Selector | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.text === other.text;
}
