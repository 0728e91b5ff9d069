/**
 * Leader election with fencing.
 *
 * - One candidate leads at a time, as far as anyone can know; it gives up before another may begin.
 * - What is written through {@link LeaderElector.fence} is committed only under the leader's epoch.
 *
 * Not promised: that two processes never both believe to lead. Guard what is not in the store by the epoch.
 */
export { FencedStore } from './fenced-store.js';
export type { ElectorHealth } from './elector-health.js';
export type { LeaderCallbacks, LeaderElectorOptions } from './elector-options.js';
export type { ElectorState } from './elector-state.js';
export { LeaderElector } from './leader-elector.js';
export { type Lease, leases } from './lease.js';
