/** The manager: one ordered start, one reverse stop within one deadline, shared informers, health, election. */
export type { LeaderElection } from './candidacy.js';
export type { HealthCheck } from './health.js';
export { Manager, type ManagerOptions, type Runnable } from './manager.js';
