import type { Node } from '../node/kind.js';
import { labelsOf, type NamedTopology, topologyAllows } from '../storage-class/index.js';
import type { StorageClass } from '../storage-class/kind.js';
import type { Volume } from '../volume/kind.js';

type Labels = Readonly<Record<string, string>>;

/** The node constraints of a mounted volume. */
export interface VolumeConstraint {
  readonly volume: Pick<Volume, 'namespace' | 'name' | 'handle' | 'topology'>;
  readonly storageClass: Pick<StorageClass, 'name' | 'allowedTopologies'> | undefined;
  /** The topology that the parameters of an unprovisioned volume give; absent if they are not needed. */
  readonly named?: NamedTopology;
}

/** Returns the topology that a volume has, or will have according to its parameters; empty if it is not known. */
function topologyOf({ volume, named }: VolumeConstraint): Labels {
  const { handle, topology = {} } = volume;
  if (handle || !named) return handle ? topology : {};
  // The controller of the volume has resolved references when it started to provision it.
  const resolved = Object.keys(named.references).flatMap((label) => {
    const value = topology[label];
    return value === undefined ? [] : [[label, value] as const];
  });
  return { ...Object.fromEntries(resolved), ...named.labels };
}

/** Returns the parameter with the topology of a volume if it is an unresolved secret reference, else undefined. */
function unresolved({ volume, named }: VolumeConstraint): string | undefined {
  if (volume.handle || !named) return undefined;
  const [, key] =
    Object.entries(named.references).find(([label]) => volume.topology?.[label] === undefined) ??
    [];
  return key;
}

function labelOf({ volume }: VolumeConstraint): string {
  return `volume ${volume.namespace}/${volume.name}`;
}

/**
 * Returns the reason why a node can't reach a volume; undefined if it can. A provisioned volume restricts its instance
 * to its topology; an unprovisioned one to the topology that its parameters give and to the topologies of its class.
 */
function obstacle(node: Node, constraint: VolumeConstraint): string | undefined {
  const { volume, storageClass } = constraint;
  const labels = labelsOf(node);
  for (const [key, value] of Object.entries(topologyOf(constraint)))
    if (labels[key] !== value)
      return labels[key] === undefined ? `has no label ${key}` : `has ${key}=${labels[key]}`;
  if (volume.handle || topologyAllows(storageClass?.allowedTopologies, labels)) return undefined;
  return `is not in allowedTopologies of class "${storageClass?.name ?? ''}"`;
}

/** Whether a node can reach a volume. */
export function reaches(node: Node, constraint: VolumeConstraint): boolean {
  return unresolved(constraint) === undefined && obstacle(node, constraint) === undefined;
}

/** Maximum number of nodes whose obstacle a message names. */
const namedMax = 8;

/**
 * Returns the reason why none of the nodes reaches all volumes: secret references that are not resolved yet, else the
 * obstacles of up to 8 nodes.
 */
export function unreachable(
  nodes: readonly Node[],
  constraints: readonly VolumeConstraint[],
): string {
  const references = constraints.flatMap((constraint) => {
    const key = unresolved(constraint);
    const label = labelOf(constraint);
    return key === undefined
      ? []
      : [
          `parameter ${key} of ${label} is a secret reference; it is known once ${label} is provisioned`,
        ];
  });
  if (references.length > 0) return references.join('; ');
  const general = constraints
    .filter((constraint) => !nodes.some((node) => reaches(node, constraint)))
    .map((constraint) => {
      const label = labelOf(constraint);
      const topology = Object.entries(topologyOf(constraint)).map(([k, v]) => `${k}=${v}`);
      if (topology.length > 0 || constraint.volume.handle)
        return `${label} is reachable only from nodes with {${topology.join(', ')}}`;
      return `class "${constraint.storageClass?.name ?? ''}" of ${label} permits none of them`;
    });
  const why = general.join('; ') || 'none of them reaches all of its volumes';
  const each = nodes.flatMap((node) => {
    const found = constraints.flatMap((constraint) => {
      const text = obstacle(node, constraint);
      return text === undefined ? [] : [{ text, label: labelOf(constraint) }];
    });
    const [first] = found;
    if (!first) return [];
    const of = constraints.length > 1 ? `, for ${first.label}` : '';
    return [`node "${node.name}" ${first.text}${of}`];
  });
  const shown = each.slice(0, namedMax);
  if (each.length > namedMax) shown.push(`${each.length - namedMax} more nodes don't reach it`);
  return shown.length > 0 ? `${why}: ${shown.join('; ')}` : why;
}
