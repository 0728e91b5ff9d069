/** The manager: one ordered start, one reverse stop within one deadline, shared informers, health. */
export { Manager, type HealthCheck, type ManagerOptions, type Runnable } from './manager.js';
