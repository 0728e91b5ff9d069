import { counted, keyString } from 'kedge';
import type { Node } from '../node/kind.js';
import { labelsOf, type NamedTopology, topologyAllows } from '../storage-class/index.js';
import type { StorageClass } from '../storage-class/kind.js';
import type { Volume } from '../volume/kind.js';
import { provisionedFirst, reachableFrom } from '../messages/placement.js';
import { volumeLabel } from '../messages/storage.js';

type Labels = Readonly<Record<string, string>>;

/** The node constraints of a mounted volume. */
export interface VolumeConstraint {
  readonly volume: Pick<Volume, 'namespace' | 'name' | 'handle' | 'topology'>;
  readonly storageClass: Pick<StorageClass, 'name' | 'allowedTopologies'> | undefined;
  /** The topology that the parameters of an unprovisioned volume give; absent if they are not needed. */
  readonly named?: NamedTopology;
  /** Labels that an unprovisioned volume gets from the node that its controller chooses; absent: none. */
  readonly open?: readonly string[];
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

/**
 * Returns why the topology of a volume is not known before it is provisioned: a parameter is an unresolved secret
 * reference, or the provider decides whether a place has capacity. Undefined if it is known.
 */
function unknownPlace(constraint: VolumeConstraint): string | undefined {
  const { volume, named, open = [] } = constraint;
  if (volume.handle || !named) return undefined;
  const label = labelOf(constraint);
  const [, key] =
    Object.entries(named.references).find(([each]) => volume.topology?.[each] === undefined) ?? [];
  const { namespace, name } = volume;
  const later = provisionedFirst.format({ volume: `${namespace}/${name}` });
  if (key !== undefined) return `parameter ${key} of ${label} is a secret reference; ${later}`;
  if (open.length === 0) return undefined;
  return `no parameter of ${label} names its ${open.join(', ')}; ${later}`;
}

function labelOf({ volume }: VolumeConstraint): string {
  return volumeLabel.format({ volume: keyString(volume) });
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
  return unknownPlace(constraint) === undefined && obstacle(node, constraint) === undefined;
}

/** Maximum number of nodes whose obstacle a message names. */
const namedMax = 8;

/**
 * Returns the reason why none of the nodes reaches all volumes: topologies that are not known yet, else the obstacles of
 * up to 8 nodes.
 */
export function unreachable(
  nodes: readonly Node[],
  constraints: readonly VolumeConstraint[],
): string {
  const unknown = constraints.flatMap((constraint) => unknownPlace(constraint) ?? []);
  if (unknown.length > 0) return unknown.join('; ');
  const general = constraints
    .filter((constraint) => !nodes.some((node) => reaches(node, constraint)))
    .map((constraint) => {
      const labels = Object.entries(topologyOf(constraint)).map(([k, v]) => `${k}=${v}`);
      if (labels.length > 0 || constraint.volume.handle)
        return reachableFrom.format({ volume: keyString(constraint.volume), labels });
      return `class "${constraint.storageClass?.name ?? ''}" of ${labelOf(constraint)} permits none of them`;
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
  if (each.length > namedMax)
    shown.push(
      `${counted(each.length - namedMax, "more node doesn't", "more nodes don't")} reach it`,
    );
  return shown.length > 0 ? `${why}: ${shown.join('; ')}` : why;
}
