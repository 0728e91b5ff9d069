/** Access control: the rules of users, policies and tokens, and what a node's token may read and write. */
export { nodeRestriction } from './node-restriction.js';
