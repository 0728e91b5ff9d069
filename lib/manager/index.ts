/** The manager: one ordered start, one reverse stop within one deadline, shared informers, health, election. */
export type { LeaderElection } from './candidacy.js';
export type { HealthCheck } from './health.js';
export { Manager } from './manager.js';
export type { ManagerOptions, ManagerPorts, RunOptions } from './manager-options.js';
export type { ManagerState } from './manager-state.js';
