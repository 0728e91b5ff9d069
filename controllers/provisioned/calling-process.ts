import type { Lister } from 'kedge';
import type { Node } from '../node/kind.js';
import type { Volume } from '../volume/kind.js';
import { ownerOf } from './owner.js';
import { waitsForNode } from '../messages/nodes.js';

/**
 * The part of the controllers in a process. `cluster` decides, and calls drivers for volumes that no other node
 * owns. `node` only calls drivers for volumes whose data is on its node.
 */
export type Part = 'cluster' | 'node';

/** The inputs of {@link callingProcess}. */
export interface CallingProcessOptions {
  /** The node of this process. */
  readonly node: string;
  readonly part: Part;
  readonly nodes: Lister<Node>;
}

/** Whether this process calls the driver for a volume, or waits for another one. */
export type CallingProcess =
  | { readonly type: 'here' }
  /** Another process handles it and reports it. */
  | { readonly type: 'elsewhere' }
  | {
      readonly type: 'waits';
      readonly message: string;
      /** Whether the awaited node is ready. */
      readonly ready: boolean;
      /** The awaited node with the data, if any. */
      readonly home: string | undefined;
    };

/** The placement of an object and its attachments. */
export type Placed = Pick<Volume, 'namespace' | 'name' | 'topology' | 'attachments'>;

/** Determines which process must call the driver for a volume. */
export function callingProcess(
  volume: Placed,
  { node, part, nodes }: CallingProcessOptions,
): CallingProcess {
  const owner = ownerOf(volume);
  const here = owner.type === 'node' && owner.node === node;
  if (part === 'node')
    return here && owner.because === 'placed' ? { type: 'here' } : { type: 'elsewhere' };
  if (here) return { type: 'here' };
  if (owner.type === 'controller') {
    const [first] = owner.underWay;
    if (!first) return { type: 'here' };
    const message = `waits for its nodes: ${first.claim} on node "${first.node}" is ${first.state}`;
    return { type: 'waits', message, ready: true, home: undefined };
  }
  const found = nodes.get(owner.node);
  const ready = found?.status === 'Ready';
  const waits = waitsForNode.format({ node: owner.node });
  if (owner.because === 'attached') {
    const off = `kedge volume detach ${volume.name} -n ${volume.namespace} --force`;
    const remedy = ready ? '' : `; the node is ${stateOf(found)}; if it is powered off: ${off}`;
    const message = `${waits} has it attached; it continues once the volume is detached there${remedy}`;
    return { type: 'waits', message, ready, home: undefined };
  }
  const gone = found ? `; if the node is gone permanently: kedge delete node ${owner.node}` : '';
  const remedy = ready ? '' : `; the node is ${stateOf(found)}: start kedged on it${gone}`;
  return { type: 'waits', message: `${waits} has its data${remedy}`, ready, home: owner.node };
}

function stateOf(node: Node | undefined): string {
  return node ? (node.status ?? 'NotReady') : 'missing';
}
