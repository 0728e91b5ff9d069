import type { ApiObject, WatchEvent } from '../../object/index.js';
import type { LazyObject } from '../record/lazy-object.js';
import type { ChangeType, Predecessor } from '../record/record-codec.js';
import type { ListBounds } from '../contract/reads.js';

/** One change of the log with its kind. */
export interface Change {
  readonly kind: string;
  readonly type: ChangeType;
  readonly entry: LazyObject;
  /** The previous state while it is in memory. `predecessor` is the address of the previous state on the disk. */
  readonly before: LazyObject | undefined;
  readonly predecessor: Predecessor | undefined;
  /** Encoded bytes, for the memory limit. */
  readonly size: number;
}

/** A change for a watcher; its objects are parsed on access. */
class ChangeEvent {
  readonly type: ChangeType;
  readonly revision: number;
  readonly #change: Change;
  readonly #before: LazyObject | undefined;

  constructor(change: Change, type: ChangeType, before: LazyObject | undefined) {
    this.type = type;
    this.revision = change.entry.revision;
    this.#change = change;
    this.#before = before;
  }

  get size(): number {
    return this.#change.size;
  }

  get object(): ApiObject {
    return this.#change.entry.object;
  }

  get previous(): ApiObject | undefined {
    return this.type === 'ADDED' ? undefined : this.#before?.object;
  }
}

/** The selectors of lists and watches. */
export type SelectionOptions = Pick<ListBounds, 'namespace' | 'labels' | 'fields'>;

/** Decides which objects of a kind a list or watch covers. */
export class Selection {
  readonly #prefix: string | undefined;
  readonly #options: SelectionOptions;
  /** True if the key alone decides, so that no object needs to be parsed. */
  readonly byKeyOnly: boolean;

  constructor(options: SelectionOptions) {
    this.#options = options;
    this.#prefix = options.namespace === undefined ? undefined : `${options.namespace}/`;
    this.byKeyOnly = !options.labels && !options.fields;
  }

  hasKey(key: string): boolean {
    return this.#prefix === undefined || key.startsWith(this.#prefix);
  }

  has(entry: LazyObject): boolean {
    if (!this.hasKey(entry.key)) return false;
    if (this.byKeyOnly) return true;
    const { labels, fields } = this.#options;
    const { object } = entry;
    return (labels?.(object.labels) ?? true) && (fields?.(object) ?? true);
  }

  /**
   * Returns the change for a watcher; undefined if the selection has neither state. The previous state decides whether
   * the watcher knows the object, also for a deletion: its last write may have changed selected fields.
   * @param before the replaced state; may be absent if the key alone decides
   */
  event(change: Change, before: LazyObject | undefined): WatchEvent<ApiObject> | undefined {
    const { type, entry } = change;
    if (!this.hasKey(entry.key)) return undefined;
    if (this.byKeyOnly) return new ChangeEvent(change, type, before) as WatchEvent<ApiObject>;
    const now = type !== 'DELETED' && this.has(entry);
    const was = type !== 'ADDED' && before !== undefined && this.has(before);
    if (!now && !was) return undefined;
    const reported = now && was ? 'MODIFIED' : now ? 'ADDED' : 'DELETED';
    return new ChangeEvent(change, reported, before) as WatchEvent<ApiObject>;
  }
}
