import { invalid } from '../../base/index.js';
import {
  type AnyKind,
  type ApiObject,
  demandNamespace,
  type FieldSelector,
  isNamespace,
  type LabelSelector,
  namespaceIndex,
} from '../../object/index.js';
import type { IndexSelection, ListBounds } from '../../store/index.js';
// What every store refuses, wherever it is.
import { demandIndexSelection } from '../../store/writes/kind-checks.js';

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

/** What stands for all namespaces in requests. */
const everywhere = '-';

/**
 * Where a list looks, as the object service takes it. Objects of one namespace are asked for as such:
 * that needs the right to list there only.
 * @throws StatusError InvalidArgument for a value without an index, and the reverse; for a namespace that no
 * object of the kind may be in; for one with an index that can't be told from all namespaces
 */
export function remoteScope(
  kind: AnyKind,
  options: Pick<ListBounds, 'namespace'> & IndexSelection,
): { readonly namespace: string; readonly index?: string; readonly value?: string } {
  demandIndexSelection(kind, options);
  const { index, value, namespace } = options;
  demandNamespace(kind, namespace);
  if (index === undefined) {
    if (namespace === undefined) return { namespace: everywhere };
    if (namespace !== everywhere) return { namespace };
    return { namespace: everywhere, index: namespaceIndex, value: namespace };
  }
  if (namespace !== undefined) return { namespace: tellable(kind, namespace), index, value };
  if (index === namespaceIndex && value !== everywhere && isNamespace(value))
    return { namespace: value };
  return { namespace: everywhere, index, value };
}

/**
 * Where a watch looks, as the object service takes it.
 * @throws StatusError InvalidArgument for a namespace that no object of the kind may be in, or that can't
 * be told from all of them
 */
export function remoteNamespace(kind: AnyKind, namespace: string | undefined): string {
  demandNamespace(kind, namespace);
  return namespace === undefined ? everywhere : tellable(kind, namespace);
}

function tellable({ kind }: AnyKind, namespace: string): string {
  if (namespace !== everywhere) return namespace;
  const description = `"${everywhere}" stands for all namespaces in requests to a server; list ${kind} by index ${namespaceIndex} alone, or use another namespace`;
  throw invalid([{ field: 'namespace', description }]);
}
