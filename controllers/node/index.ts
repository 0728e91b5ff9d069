/**
 * Nodes: registration, heartbeats and removal.
 *
 * Guarantees:
 * - A process becomes the agent of a node only if the node has no other live agent. The process of the store does not
 *   wait: it replaces the other one.
 * - A node without a heartbeat for `nodeSilentMs` becomes NotReady. The time is measured by the clock of the
 *   controller.
 *
 * Errors: {@link NodeRegistration} reports FailedPrecondition (AgentReplaced) to `onReplaced`.
 *
 * Caveats: a replaced process learns of it at its next heartbeat.
 */
export { type AgentLife, agentOfStore } from './agent-life.js';
export { type NodeControllerOptions, nodeController, silentReason } from './controller.js';
export { GoneNodes } from './gone-nodes.js';
export { otherNodeOf } from './other-node.js';
export { NodeRegistration, type NodeRegistrationOptions } from './registration.js';
export { nodeVerbs } from './verbs.js';
