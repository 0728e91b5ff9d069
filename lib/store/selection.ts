import type { ApiObject, WatchEvent } from '../object/index.js';
import type { LazyObject } from './lazy-object.js';
import type { ChangeType, Predecessor } from './record-codec.js';
import type { ListOptions } from './store.js';

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

  constructor(change: Change, type: ChangeType) {
    this.type = type;
    this.revision = change.entry.revision;
    this.#change = change;
  }

  get size(): number {
    return this.#change.size;
  }

  get object(): ApiObject {
    return this.#change.entry.object;
  }

  get previous(): ApiObject | undefined {
    return this.type === 'MODIFIED' ? this.#change.before?.object : undefined;
  }
}

/** What lists and watches choose by. */
export type SelectionOptions = Pick<ListOptions, 'namespace' | 'labels' | 'fields'>;

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

  /** The change as the watcher is told it; `before` is the state it knew, where that matters. */
  event(change: Change, before: LazyObject | undefined): WatchEvent<ApiObject> | undefined {
    const { type, entry } = change;
    if (!this.hasKey(entry.key)) return undefined;
    if (this.byKeyOnly || type !== 'MODIFIED') {
      if (!this.byKeyOnly && !this.has(entry)) return undefined;
      return new ChangeEvent(change, type) as WatchEvent<ApiObject>;
    }
    const now = this.has(entry);
    const was = before !== undefined && this.has(before);
    if (!now && !was) return undefined;
    const told = now && was ? 'MODIFIED' : now ? 'ADDED' : 'DELETED';
    return new ChangeEvent(change, told) as WatchEvent<ApiObject>;
  }
}
