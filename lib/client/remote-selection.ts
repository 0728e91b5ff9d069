import {
  type AnyKind,
  type ApiObject,
  type FieldSelector,
  type LabelSelector,
  namespaceIndex,
} from '../object/index.js';
import type { IndexSelection, ListBounds } from '../store/index.js';
// What every store refuses, wherever it is.
import { demandIndexSelection } from '../store/kind-checks.js';

/** What a list or watch chooses by. */
export interface Selectors {
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
export function remoteSelection({ labels, fields }: Selectors): RemoteSelection {
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

/**
 * Where a list looks, as the object service takes it. Objects of one namespace are asked for as such:
 * that needs the right to list there only.
 * @throws StatusError InvalidArgument for a value without an index, and the reverse
 */
export function remoteScope(
  kind: AnyKind,
  options: Pick<ListBounds, 'namespace'> & IndexSelection,
): { readonly namespace: string; readonly index?: string; readonly value?: string } {
  demandIndexSelection(kind, options);
  const { index, value, namespace } = options;
  if (index === undefined) return { namespace: namespace ?? '-' };
  if (index === namespaceIndex && namespace === undefined) return { namespace: value };
  return { namespace: namespace ?? '-', index, value };
}
