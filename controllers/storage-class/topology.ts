import {
  type Capabilities,
  isSecretReference,
  nodeTopologyKey,
  type Parameters,
} from '@kedge/driver-sdk';
import type { Node } from '../node/kind.js';
import type { StorageClass, TopologyExpression, TopologySelector } from './kind.js';
import { locationMissing } from '../messages/placement.js';

type Labels = Readonly<Record<string, string>>;

function expressionHolds({ key, operator, values = [] }: TopologyExpression, labels: Labels) {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}

function selectorHolds({ matchLabels, matchExpressions }: TopologySelector, labels: Labels) {
  return (
    Object.entries(matchLabels ?? {}).every(([key, value]) => labels[key] === value) &&
    (matchExpressions ?? []).every((expression) => expressionHolds(expression, labels))
  );
}

/**
 * Whether a node's labels satisfy a class's allowedTopologies: one of the selectors with all of its terms. An empty
 * list allows all nodes.
 */
export function topologyAllows(
  selectors: readonly TopologySelector[] | undefined,
  labels: Labels | undefined,
): boolean {
  if (!selectors || selectors.length === 0) return true;
  return selectors.some((selector) => selectorHolds(selector, labels ?? {}));
}

/** A node's labels including its name, which is implicit and can't be removed. */
export function labelsOf(node: Node): Labels {
  return { ...node.labels, [nodeTopologyKey]: node.name };
}

/** The topology that parameters give, by label. */
export interface NamedTopology {
  readonly labels: Labels;
  /** The parameters whose values are secret references: their labels are known only to the volume controller. */
  readonly references: Readonly<Record<string, string>>;
}

/**
 * Reads the topology that the parameters of a volume give.
 * @param keysOf `Capabilities.placeParameters` of its driver
 */
export function namedTopology(
  parameters: Parameters,
  keysOf: Readonly<Record<string, readonly string[]>> = {},
): NamedTopology {
  const labels: Record<string, string> = {};
  const references: Record<string, string> = {};
  for (const [label, keys] of Object.entries(keysOf)) {
    const key = keys.find((each) => (parameters[each] ?? '') !== '');
    const value = key === undefined ? undefined : parameters[key];
    if (key === undefined || value === undefined) continue;
    if (isSecretReference(value)) references[label] = key;
    else labels[label] = value;
  }
  return { labels, references };
}

/** The node and the topology that were chosen for a new volume, or the reason why there is none. */
export type TopologyChoice =
  | { readonly type: 'node'; readonly node: string; readonly topology: Labels }
  | { readonly type: 'none'; readonly message: string };

/** The capabilities of a driver that decide about the topology of a volume. */
export type TopologyRules = Pick<
  Capabilities,
  'topologyKeys' | 'placeParameters' | 'requiredTopologyKeys'
>;

/**
 * The node for which a volume is provisioned: the preferred one if allowed, else the first by name. Nodes with the
 * `named` labels take precedence.
 * @param named labels from the parameters; they override the labels of the node
 */
export function chooseTopology(
  storageClass: StorageClass,
  nodes: readonly Node[],
  { topologyKeys: keys, placeParameters = {}, requiredTopologyKeys = [] }: TopologyRules,
  preferred: string,
  named: Labels = {},
): TopologyChoice {
  const selectors = storageClass.allowedTopologies;
  const permitted = nodes.filter((node) => topologyAllows(selectors, labelsOf(node)));
  const unnamed = requiredTopologyKeys.filter((key) => named[key] === undefined);
  const allowed = permitted.filter((node) =>
    unnamed.every((key) => labelsOf(node)[key] !== undefined),
  );
  if (unnamed.length > 0 && allowed.length === 0 && (permitted.length > 0 || nodes.length === 0)) {
    const parameters = unnamed.flatMap((key) => placeParameters[key] ?? []);
    const missing = locationMissing.format({ parameters, labels: unnamed });
    const message = `${missing} ${parameters.join(', ')} in class "${storageClass.name}", or label a node`;
    return { type: 'none', message };
  }
  const sorted = [...allowed].sort((a, b) => (a.name < b.name ? -1 : 1));
  const there = sorted.filter((node) =>
    Object.entries(named).every(([key, value]) => labelsOf(node)[key] === value),
  );
  const candidates = there.length > 0 ? there : sorted;
  const chosen = candidates.find((node) => node.name === preferred) ?? candidates[0];
  if (chosen) {
    const labels = labelsOf(chosen);
    const topology = Object.fromEntries(
      keys.filter((key) => labels[key] !== undefined).map((key) => [key, labels[key] ?? '']),
    );
    return { type: 'node', node: chosen.name, topology: { ...topology, ...named } };
  }
  // Without constraints any node is valid, even before one has registered.
  if (!selectors || selectors.length === 0)
    return { type: 'node', node: preferred, topology: named };
  return {
    type: 'none',
    message: `no node has the labels that allowedTopologies of class "${storageClass.name}" requires; label a node, or widen allowedTopologies`,
  };
}
