/** Nodes: registration, heartbeats, removal, and the rights of an agent's token. */
export { type AgentLife, agentOfStore } from './agent-life.js';
export { type NodeControllerOptions, nodeController, silentReason } from './controller.js';
export { GoneNodes } from './gone.js';
export { otherNodeOf } from './other-node.js';
export { NodeRegistration, type NodeRegistrationOptions } from './registration.js';
export { nodeRestriction } from './restriction.js';
export { nodeVerbs } from './verbs.js';
