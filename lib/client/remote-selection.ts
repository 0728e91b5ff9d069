import type { ApiObject, FieldSelector, LabelSelector } from '../object/index.js';
import { unimplemented } from './remote-objects.js';

/** What a list or watch chooses by. */
export interface Selectors {
  readonly index?: string | undefined;
  readonly labels?: LabelSelector;
  readonly fields?: FieldSelector;
}

/** How a selection is made over the wire. */
export interface RemoteSelection {
  /** For the server: the selectors that were made from a text. */
  readonly texts: { readonly labelSelector?: string; readonly fieldSelector?: string };
  /** For this process: all selectors, when one of them is a function without a text. */
  readonly local: Selectors | undefined;
}

/** Selectors that have a text go to the server; functions of this process are judged here. */
export function remoteSelection({ labels, fields, index }: Selectors): RemoteSelection {
  if (index !== undefined) throw unimplemented('a list by index');
  const isRemote = (selector: LabelSelector | FieldSelector | undefined): boolean =>
    selector === undefined || selector.text !== undefined;
  if (!isRemote(labels) || !isRemote(fields))
    return { texts: {}, local: { ...(labels ? { labels } : {}), ...(fields ? { fields } : {}) } };
  return {
    texts: {
      ...(labels?.text === undefined ? {} : { labelSelector: labels.text }),
      ...(fields?.text === undefined ? {} : { fieldSelector: fields.text }),
    },
    local: undefined,
  };
}

/** Whether an object is one of a selection. */
export function isSelected({ labels, fields }: Selectors, object: ApiObject): boolean {
  return (labels?.(object.labels) ?? true) && (fields?.(object) ?? true);
}
