import type { ApiObject, FieldSelector, LabelSelector, WatchPosition } from '../../object/index.js';

/**
 * Objects under one value of an index: of one in {@link Kind.indexes}, or of `namespace`, which every
 * namespaced kind has. Both or neither.
 *
 * @typeParam I names of the indexes
 */
export type IndexSelection<I extends string = string> =
  | { readonly index: I; readonly value: string }
  | { readonly index?: undefined; readonly value?: undefined };

/**
 * Which objects a list returns. By `index` it is found in time proportional to the objects under the
 * value, after the first such list since the store was opened, which reads all objects of the kind.
 */
export type ListOptions<I extends string = string> = ListBounds & IndexSelection<I>;

/** {@link ListOptions} without an index. */
export interface ListBounds {
  /** Exactly this namespace; absent means all. */
  readonly namespace?: string;
  readonly labels?: LabelSelector;
  readonly fields?: FieldSelector;
  /**
   * Objects a page, 1 or more; above `limits.pageSizeMax` that many are given. Absent: everything in
   * one page.
   */
  readonly limit?: number;
  /** Encoded bytes a page may hold, 1 or more, so that it fits a message; one object is given in any case. */
  readonly pageBytes?: number;
  /**
   * From the page before, within 5 minutes; namespace, selectors and caller must be the same, the size
   * of the page may differ. Selectors are compared by their text, where they have one.
   */
  readonly pageToken?: string;
  /** Who asks, where a program lists for others: nobody else is given the further pages. */
  readonly caller?: string;
}

/** Objects in key order, all at one revision (also across the pages of one list). */
export interface ListResult<T extends ApiObject> {
  readonly items: readonly T[];
  /** What a `checkKind` takes: since then nothing changed. */
  readonly revision: number;
  /** The same position, where `revision` alone does not say whose history it is; see {@link WatchStart}. */
  readonly cursor?: string;
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** Where a watch starts. */
export type WatchStart =
  | WatchPosition
  /** With the objects there are, as ADDED events in batches marked `initial`, then live. */
  | { readonly sendInitialEvents: true };

/**
 * What a watch covers. With selectors an object that comes to match is told as ADDED, one that no
 * longer does as DELETED, with the state that left; a deletion is told when the state before it matched.
 */
export type WatchOptions = WatchStart & {
  readonly namespace?: string;
  readonly labels?: LabelSelector;
  readonly fields?: FieldSelector;
  readonly signal: AbortSignal;
  /** Send a bookmark after this long without an event, in milliseconds. Absent: never. */
  readonly bookmarkMs?: number;
  /**
   * Tell with each change the state before it, also where that has to be read from the log. Absent:
   * only where it is in memory.
   */
  readonly withPrevious?: boolean;
};
