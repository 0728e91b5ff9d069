import { counted } from 'kedge';
import type { Instance } from '../instance/kind.js';
import type { Node } from '../node/kind.js';
import { isNeedy } from '../resources/index.js';
import { fullnessWith, type NodeUse, type Shortage, shortageOf, useOf } from './node-room.js';
import { labelsOf } from '../storage-class/index.js';
import { reaches, unreachable, type VolumeConstraint } from './volume-node-affinity.js';

/** The node of an instance, or the reason why none fits. */
export type Placement =
  | { readonly type: 'node'; readonly node: string }
  | {
      readonly type: 'none';
      readonly reason: 'NoNodeFits' | 'VolumeNotReady' | Shortage['reason'];
      readonly message: string;
    };

/** Whether a node has the labels of a selector. */
export function matchesSelector(
  node: Node,
  selector: Readonly<Record<string, string>> = {},
): boolean {
  const labels = labelsOf(node);
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

function none(message: string): Placement {
  return { type: 'none', reason: 'NoNodeFits', message };
}

/** Maximum number of nodes whose shortage a message names. */
const namedMax = 8;

/** Returns the result for an instance without a node, with the shortages of the nodes that match otherwise. */
function noRoom(known: string, shortages: readonly Shortage[]): Placement {
  const named = shortages.slice(0, namedMax).map(({ message }) => message);
  if (shortages.length > namedMax)
    named.push(
      `${counted(shortages.length - namedMax, 'more node lacks', 'more nodes lack')} free resources`,
    );
  const isPort = shortages.every(({ reason }) => reason === 'HostPortTaken');
  return {
    type: 'none',
    reason: isPort ? 'HostPortTaken' : 'InsufficientResources',
    message: `${known}, but ${named.join('; ')}`,
  };
}

/**
 * Selects a node that is ready and schedulable, matches the selector, reaches the volumes and has enough free resources
 * and the host ports. Prefers the lowest requested share of resources, then the first by name; for an instance that
 * requests neither resources nor ports, the first by name. Pure.
 * @param usersOf the instances that use resources or ports of a node, or for which they are reserved
 */
export function placeInstance(
  instance: Instance,
  nodes: readonly Node[],
  constraints: readonly VolumeConstraint[] = [],
  usersOf: (node: Node) => readonly Instance[] = () => [],
): Placement {
  const selector = instance.template.nodeSelector ?? {};
  const ready = nodes.filter((node) => node.status === 'Ready');
  const open = ready.filter((node) => node.unschedulable !== true);
  const fitting = open.filter((node) => matchesSelector(node, selector));
  const reaching = fitting.filter((node) => constraints.every((c) => reaches(node, c)));
  const known = `${ready.length} of ${nodes.length} nodes are ready, ${open.length} of them schedulable`;
  const chosen = roomiest(instance, reaching, usersOf);
  if (chosen.type === 'node') return chosen;
  if (chosen.shortages.length > 0) return noRoom(known, chosen.shortages);
  if (fitting.length === 0) {
    const wanted = Object.entries(selector)
      .map(([key, value]) => `${key}=${value}`)
      .join(', ');
    return none(`${known}, and none of them matches nodeSelector {${wanted}}`);
  }
  const why = unreachable(fitting, constraints);
  return none(
    `${known}, ${counted(fitting.length, 'matches', 'match')} its nodeSelector, but ${why}`,
  );
}

/** Returns the node with the lowest utilization by requests, or the shortage of each node if none has enough. */
function roomiest(
  instance: Instance,
  nodes: readonly Node[],
  usersOf: (node: Node) => readonly Instance[],
):
  | { readonly type: 'node'; readonly node: string }
  | { readonly type: 'none'; readonly shortages: readonly Shortage[] } {
  const needy = isNeedy(instance.template);
  const shortages: Shortage[] = [];
  let best: { readonly node: string; readonly fullness: number } | undefined;
  for (const node of [...nodes].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!needy) return { type: 'node', node: node.name };
    const use: NodeUse = useOf(usersOf(node));
    const shortage = shortageOf(instance, node, use);
    if (shortage) {
      shortages.push(shortage);
      continue;
    }
    const fullness = fullnessWith(instance, node, use);
    if (!best || fullness < best.fullness) best = { node: node.name, fullness };
  }
  return best ? { type: 'node', node: best.node } : { type: 'none', shortages };
}
