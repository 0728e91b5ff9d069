/**
 * Requests of the server to the agents of nodes in other processes: commands, output and images. The agent opens every
 * stream (decision 0086), so that it needs no port. One process answers for a node: the one that registered it.
 */
export { AgentConnection, type AgentConnectionOptions } from './agent-connection.js';
export { ConnectedAgents } from './connected-agents.js';
export { agentVerbs } from './verbs.js';
