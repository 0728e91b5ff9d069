import { findCondition } from 'kedge';
import type { Instance } from '../instance/kind.js';
import type { Service } from '../service/kind.js';

/** The health of a workload. */
export type HealthState = 'Healthy' | 'Degraded' | 'Unhealthy' | 'Unknown';

/** Health of one instance, from its conditions. Pure. */
export function healthOfInstance(instance: Instance): HealthState {
  if (instance.status === 'Unknown') return 'Unknown';
  if (instance.status === 'Failed') return 'Unhealthy';
  const ready = findCondition(instance.conditions, 'Ready');
  if (!ready) return 'Unknown';
  if (ready.status === 'True') return 'Healthy';
  // A successful exit is healthy if the restart policy keeps the workload stopped.
  if (instance.status === 'Exited' && instance.template.restartPolicy !== 'Always')
    return 'Healthy';
  return 'Unhealthy';
}

/** Health of a service, from its instances. Pure. */
export function healthOfService(
  service: Service,
  instances: readonly Instance[],
): {
  readonly state: HealthState;
  readonly ready: number;
  readonly wanted: number;
  readonly message: string;
} {
  const wanted = service.scale ?? 1;
  const states = instances.map(healthOfInstance);
  const ready = states.filter((state) => state === 'Healthy').length;
  const message = `${ready} of ${wanted} instances are healthy`;
  const unknown = states.filter((state) => state === 'Unknown').length;
  const known = (): HealthState => {
    if (ready >= wanted) return 'Healthy';
    if (ready > 0) return 'Degraded';
    return unknown === states.length ? 'Unknown' : 'Unhealthy';
  };
  return { state: known(), ready, wanted, message };
}
