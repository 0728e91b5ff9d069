import type { Instance } from '../instance/kind.js';

/**
 * The node of an instance if it is not the node of this server; undefined if it is, or if the instance is unplaced.
 * @param here the node of this server; undefined for a server that has the runtimes of all nodes
 */
export function otherNodeOf({ node }: Instance, here: string | undefined): string | undefined {
  return node === undefined || node === '' || here === undefined || node === here
    ? undefined
    : node;
}
