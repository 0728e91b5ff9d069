import type { ApiObject, WatchEvent } from '../../object/index.js';
import type { LazyObject } from '../record/lazy-object.js';
import type { ChangeType, Predecessor } from '../record/record-codec.js';
import type { ListBounds } from '../contract/reads.js';

/** One change of the log with the kind it belongs to. */
export interface Change {
  readonly kind: string;
  readonly type: ChangeType;
  readonly entry: LazyObject;
  /** The state before, while it is in memory; `predecessor` says where it is on the disk. */
  readonly before: LazyObject | undefined;
  readonly predecessor: Predecessor | undefined;
  /** Encoded bytes, for the bound on what is kept in memory. */
  readonly size: number;
}

/** A change as a watcher sees it; the objects are parsed when looked at. */
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

/** What lists and watches choose by. */
export type SelectionOptions = Pick<ListBounds, 'namespace' | 'labels' | 'fields'>;

/** Decides which objects of a kind a list or watch covers. */
export class Selection {
  readonly #prefix: string | undefined;
  readonly #options: SelectionOptions;
  /** True when only the key decides, so that no object has to be parsed. */
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
   * The change as the watcher is told it. What was told before is judged by the state before, also of
   * a deletion: its last write may have changed what the selectors look at.
   * @param before the state that the change replaced; of one that only the key decides it may be left out
   */
  event(change: Change, before: LazyObject | undefined): WatchEvent<ApiObject> | undefined {
    const { type, entry } = change;
    if (!this.hasKey(entry.key)) return undefined;
    if (this.byKeyOnly) return new ChangeEvent(change, type, before) as WatchEvent<ApiObject>;
    const now = type !== 'DELETED' && this.has(entry);
    const was = type !== 'ADDED' && before !== undefined && this.has(before);
    if (!now && !was) return undefined;
    const told = now && was ? 'MODIFIED' : now ? 'ADDED' : 'DELETED';
    return new ChangeEvent(change, told, before) as WatchEvent<ApiObject>;
  }
}
