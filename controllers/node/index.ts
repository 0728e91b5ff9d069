/** Nodes: how one makes itself known, and what its agent's token may touch. */
export { NodeRegistration, type NodeRegistrationOptions } from './registration.js';
export { nodeRestriction } from './restriction.js';
export { nodeVerbs } from './verbs.js';
