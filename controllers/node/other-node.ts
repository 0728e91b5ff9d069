import { failedPrecondition, type ObjectKey, type StatusError } from 'kedge';
import type { Instance } from '../instance/kind.js';

/** A request that only the agent of another node could answer. */
export interface Elsewhere {
  /** The node with the requested resource. */
  readonly node: string;
  /** The node of this server. */
  readonly here: string;
  /** What was requested, such as "the images". */
  readonly what: string;
  /** What to type on the other node. */
  readonly remedy: string;
}

/** The sentence about a node to which this server has no connection (decision 0081). */
export function elsewhereText({ node, here, what, remedy }: Elsewhere): string {
  return `${what} can be reached only on node ${node}: its agent is not in this server, which is on node ${here}, and accepts no connections; on node ${node}, ${remedy}`;
}

/** The error of such a request. */
export function onOtherNode(
  elsewhere: Elsewhere,
  resource: ObjectKey & { readonly kind: string },
): StatusError {
  return failedPrecondition('WrongNode', elsewhereText(elsewhere), resource);
}

/**
 * The node of an instance if it is not the node of this server.
 * @param here the node of this server; undefined for a server that has the runtimes of all nodes
 */
export function otherNodeOf({ node }: Instance, here: string | undefined): string | undefined {
  return node === undefined || node === '' || here === undefined || node === here
    ? undefined
    : node;
}
