import { invalid } from '../../base/index.js';
import {
  type AnyKind,
  type ApiObject,
  type FieldSelector,
  isNamespace,
  type LabelSelector,
  namespaceIndex,
  requireNamespace,
} from '../../object/index.js';
import type { IndexSelection, ListBounds } from '../../store/index.js';
// This module has the validation of every store.
import { requireIndexSelection } from '../../store/writes/kind-checks.js';

/** The selectors of a list or watch. */
export interface Selectors {
  readonly labels?: LabelSelector;
  readonly fields?: FieldSelector;
}

/** A selection split between server and client. */
export interface RemoteSelection {
  /** Selectors with a text, for the server. */
  readonly texts: { readonly labelSelector?: string; readonly fieldSelector?: string };
  /** All selectors, for this process, if one of them is a function without a text. */
  readonly local: Selectors | undefined;
}

/**
 * Splits selectors: those with a text are sent to the server. If one is a function without a text, all are evaluated in
 * this process.
 */
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

/** Whether an object matches a selection. */
export function isSelected({ labels, fields }: Selectors, object: ApiObject): boolean {
  return (labels?.(object.labels) ?? true) && (fields?.(object) ?? true);
}

/** Represents all namespaces in requests. */
const everywhere = '-';

/**
 * The scope of a list for the object service. Objects of one namespace are requested by namespace, which needs only the
 * right to list there.
 * @throws StatusError InvalidArgument for a value without an index, and the reverse; for a namespace that no object of
 * the kind may be in; for the namespace `-` together with an index
 */
export function remoteScope(
  kind: AnyKind,
  options: Pick<ListBounds, 'namespace'> & IndexSelection,
): { readonly namespace: string; readonly index?: string; readonly value?: string } {
  requireIndexSelection(kind, options);
  const { index, value, namespace } = options;
  requireNamespace(kind, namespace);
  if (index === undefined) {
    if (namespace === undefined) return { namespace: everywhere };
    if (namespace !== everywhere) return { namespace };
    return { namespace: everywhere, index: namespaceIndex, value: namespace };
  }
  if (namespace !== undefined) return { namespace: sendable(kind, namespace), index, value };
  if (index === namespaceIndex && value !== everywhere && isNamespace(value))
    return { namespace: value };
  return { namespace: everywhere, index, value };
}

/**
 * The scope of a watch for the object service.
 * @throws StatusError InvalidArgument for a namespace that no object of the kind may be in, and for the namespace `-`
 */
export function remoteNamespace(kind: AnyKind, namespace: string | undefined): string {
  requireNamespace(kind, namespace);
  return namespace === undefined ? everywhere : sendable(kind, namespace);
}

function sendable({ kind }: AnyKind, namespace: string): string {
  if (namespace !== everywhere) return namespace;
  const description = `namespace "${everywhere}" selects all namespaces in requests to a server; list ${kind} by index ${namespaceIndex} without a namespace, or use another namespace`;
  throw invalid([{ field: 'namespace', description }]);
}
