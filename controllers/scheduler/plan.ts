import type { Instance } from '../instance/kind.js';
import type { Node } from '../node/kind.js';
import type { StorageClass } from '../storage-class/kind.js';
import type { Volume } from '../volume/kind.js';
import { labelsOf, topologyAllows } from '../storage-class/index.js';

/** The node of an instance, or the reason why none fits. */
export type Placement =
  | { readonly type: 'node'; readonly node: string }
  | { readonly type: 'none'; readonly message: string };

/** The node constraints of a mounted volume. */
export interface VolumeConstraint {
  readonly volume: Pick<Volume, 'namespace' | 'name' | 'handle' | 'topology'>;
  readonly storageClass: Pick<StorageClass, 'name' | 'allowedTopologies'> | undefined;
}

function matches(node: Node, selector: Readonly<Record<string, string>>): boolean {
  const labels = labelsOf(node);
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

/**
 * A provisioned volume restricts its instance to its topology; an unprovisioned one to the topologies of its class.
 */
function reaches(node: Node, { volume, storageClass }: VolumeConstraint): boolean {
  if (volume.handle) return matches(node, volume.topology ?? {});
  return topologyAllows(storageClass?.allowedTopologies, labelsOf(node));
}

function none(message: string): Placement {
  return { type: 'none', message };
}

/** The first node by name that is ready, schedulable, matches the selector and reaches the volumes. Pure. */
export function placeInstance(
  instance: Instance,
  nodes: readonly Node[],
  constraints: readonly VolumeConstraint[] = [],
): Placement {
  const selector = instance.template.nodeSelector ?? {};
  const ready = nodes.filter((node) => node.status === 'Ready');
  const open = ready.filter((node) => node.unschedulable !== true);
  const fitting = open.filter((node) => matches(node, selector));
  const reaching = fitting.filter((node) => constraints.every((c) => reaches(node, c)));
  const chosen = reaching.map((node) => node.name).sort()[0];
  if (chosen !== undefined) return { type: 'node', node: chosen };
  const known = `of ${nodes.length} nodes ${ready.length} are ready, ${open.length} of them schedulable`;
  if (fitting.length === 0) {
    const wanted = Object.entries(selector)
      .map(([key, value]) => `${key}=${value}`)
      .join(', ');
    return none(`${known}, and none of those matches nodeSelector {${wanted}}`);
  }
  const blocking = constraints
    .filter((c) => !fitting.some((node) => reaches(node, c)))
    .map(({ volume, storageClass }) => {
      const label = `volume ${volume.namespace}/${volume.name}`;
      const labels = Object.entries(volume.topology ?? {}).map(([k, v]) => `${k}=${v}`);
      if (volume.handle) return `${label} is where nodes have {${labels.join(', ')}}`;
      return `class "${storageClass?.name ?? ''}" of ${label} allows none of them`;
    });
  const why = blocking.join('; ') || 'no one of them reaches all of its volumes';
  return none(`${known}, ${fitting.length} match its nodeSelector, but ${why}`);
}
