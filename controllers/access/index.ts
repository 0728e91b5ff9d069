/**
 * The rights of nodes: what the token of an agent may read and write. Rules of users, policies and tokens are in the
 * same folder.
 *
 * Guarantees:
 * - A token of a node reads only its node, the instances bound to it, the volumes and snapshots that are on it, and the
 *   objects that these need.
 * - The rights depend on data that no node can write. The exception is attachments of volumes, which a node adds only
 *   for its own instances.
 *
 * Caveats:
 * - Rights are computed from caches: a new binding takes effect once the cache has it.
 * - Storage classes can be read by every node.
 */
export { nodeRestriction } from './node-restriction.js';
