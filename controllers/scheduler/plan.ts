import type { Instance, Node } from '../kinds/index.js';

/** Where an instance goes, or why nowhere. */
export type Placement =
  | { readonly type: 'node'; readonly node: string }
  | { readonly type: 'none'; readonly message: string };

function matches(node: Node, selector: Readonly<Record<string, string>>): boolean {
  return Object.entries(selector).every(([key, value]) => node.labels?.[key] === value);
}

/** The first node by name that is ready, schedulable and matches the selector. Pure. */
export function placeInstance(instance: Instance, nodes: readonly Node[]): Placement {
  const selector = instance.template.nodeSelector ?? {};
  const ready = nodes.filter((node) => node.status === 'Ready');
  const open = ready.filter((node) => node.unschedulable !== true);
  const fitting = open.filter((node) => matches(node, selector));
  const chosen = fitting.map((node) => node.name).sort()[0];
  if (chosen !== undefined) return { type: 'node', node: chosen };
  const wanted = Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
  const message = `of ${nodes.length} nodes ${ready.length} are ready, ${open.length} of them schedulable, and none of those matches nodeSelector {${wanted}}`;
  return { type: 'none', message };
}
