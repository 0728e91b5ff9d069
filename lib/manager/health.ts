import type { ObjectStore } from '../store/index.js';
import type { ManagerState } from './manager-state.js';

/** Health of one part. */
export interface HealthCheck {
  readonly name: string;
  readonly healthy: boolean;
  readonly message: string;
}

/** The manager itself is healthy only while it runs; `detail` describes what it waits for, or why it ended. */
export function managerHealth(state: ManagerState, detail: string): HealthCheck {
  const message = detail === '' ? state : `${state}: ${detail}`;
  return { name: 'manager', healthy: state === 'running', message };
}

/** Returns the health of a store; it is healthy only while it accepts writes. */
export function storeHealth(store: ObjectStore): HealthCheck {
  const health = store.health();
  const message = 'error' in health ? health.error.message : health.state;
  return { name: 'store', healthy: health.state === 'serving', message };
}
