/**
 * Requests of the server to the agents of nodes in other processes: commands, output and images. The agent opens every
 * stream (decision 0086), so that it needs no port.
 *
 * Guarantees:
 * - Only the process that registered a node answers for it.
 * - A request ends with its caller and with the connection of the agent. A command is then killed.
 *
 * Errors: FailedPrecondition (AgentNotConnected, AgentSilent), Unavailable (AgentLost), ResourceExhausted (AgentBusy).
 *
 * Caveats: a node has at most 96 commands, 96 logs and 16 requests about images at a time.
 */
export { AgentConnection, type AgentConnectionOptions } from './agent-connection.js';
export { ConnectedAgents } from './connected-agents.js';
export { agentVerbs } from './verbs.js';
