import type { ApiObject, FieldSelector, LabelSelector, WatchPosition } from '../../object/index.js';

/**
 * Selects objects under one value of an index in {@link Kind.indexes}, or of `namespace`, which every namespaced
 * kind has. Set both or neither.
 *
 * @typeParam I names of the indexes
 */
export type IndexSelection<I extends string = string> =
  | { readonly index: I; readonly value: string }
  | { readonly index?: undefined; readonly value?: undefined };

/**
 * The selection of a list. A list by `index` takes time proportional to the objects under the value; the first one by
 * an index after opening reads all objects of the kind.
 */
export type ListOptions<I extends string = string> = ListBounds & IndexSelection<I>;

/** {@link ListOptions} without an index. */
export interface ListBounds {
  /** Exactly this namespace; absent means all. */
  readonly namespace?: string;
  readonly labels?: LabelSelector;
  readonly fields?: FieldSelector;
  /**
   * Objects per page, 1 or more; above `limits.pageSizeMax` that applies. Absent: everything in one page. A page of a
   * token then has at most `limits.pageSizeDefault` objects, unless `pageBytes` is set.
   */
  readonly limit?: number;
  /** Maximum encoded bytes per page, 1 or more, so that it fits into a message; a page has at least one object. */
  readonly pageBytes?: number;
  /**
   * Token of the previous page, valid until no page of its list was read for 5 minutes. Many unfinished lists may end it
   * earlier. Namespace, index, selectors and caller must be the same; the size of the page may differ. Selectors with a
   * text are compared by their text.
   */
  readonly pageToken?: string;
  /** The caller, for a program that lists for others: only this caller gets the further pages. */
  readonly caller?: string;
}

/** Objects in key order, all at one revision (also across the pages of one list). */
export interface ListResult<T extends ApiObject> {
  readonly items: readonly T[];
  /** The revision of the list, for a `checkKind`. */
  readonly revision: number;
  /** The same position with the id of the history; see {@link WatchStart}. */
  readonly cursor?: string;
  /** Token of the next page; empty on the last page. */
  readonly nextPageToken: string;
}

/** The start position of a watch. */
export type WatchStart =
  | WatchPosition
  /** Starts with the present objects, as ADDED events in batches marked `initial`, then continues live. */
  | { readonly sendInitialEvents: true };

/**
 * The selection of a watch. With selectors, an object that starts to match is delivered as ADDED, and one that
 * stops matching as DELETED with its last matching state; a deletion is delivered if the previous state matched.
 */
export type WatchOptions = WatchStart & {
  readonly namespace?: string;
  readonly labels?: LabelSelector;
  readonly fields?: FieldSelector;
  readonly signal: AbortSignal;
  /** Interval without an event after which a bookmark is sent, in milliseconds. Absent: never. */
  readonly bookmarkMs?: number;
  /**
   * Delivers the previous state with each change, even if it must be read from the log. Absent: only if it is in
   * memory.
   */
  readonly withPrevious?: boolean;
};
