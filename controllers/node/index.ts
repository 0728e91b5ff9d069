/** Nodes: registration, heartbeats and removal. */
export { type AgentLife, agentOfStore } from './agent-life.js';
export { type NodeControllerOptions, nodeController, silentReason } from './controller.js';
export { GoneNodes } from './gone-nodes.js';
export { otherNodeOf } from './other-node.js';
export { NodeRegistration, type NodeRegistrationOptions } from './registration.js';
export { nodeVerbs } from './verbs.js';
