/**
 * Leader election with fencing.
 *
 * - One candidate leads at a time, up to clock and pause effects; it steps down before another may start.
 * - What is written through {@link LeaderElector.fence} is committed only under the leader's epoch.
 *
 * Not guaranteed: that two processes never both believe to lead. Guard external systems with the epoch.
 */
export { FencedStore } from './fenced-store.js';
export type { ElectorHealth } from './elector-health.js';
export type { LeaderCallbacks, LeaderElectorOptions } from './elector-options.js';
export type { ElectorState } from './elector-state.js';
export { LeaderElector } from './leader-elector.js';
export { type Lease, leases } from './lease.js';
