import { type Condition, findCondition, isDeleting } from 'kedge';
import type { Instance } from '../instance/kind.js';
import type { Service } from '../service/kind.js';
import type { DriverOperation, Volume } from '../volume/kind.js';
import { mountedVolumes } from '../service/claim.js';

/** What keeps something from running. */
export interface Cause {
  /** `Volume default/data`: who says so. */
  readonly object: string;
  readonly message: string;
}

/** A volume by `<namespace>/<name>`. */
export type VolumeLookup = (key: string) => Volume | undefined;

/** The part of a volume or a snapshot that tells how it is. */
interface Storage {
  readonly status?: string;
  readonly failureMessage?: string;
  readonly lastOperation?: DriverOperation;
  readonly conditions?: readonly Condition[];
}

const settled: ReadonlySet<string | undefined> = new Set(['Available', 'Bound', 'Ready']);

/** What a volume or a snapshot that is not usable yet says, the driver's answer first; empty for one that is. */
export function causeOfStorage(storage: Storage): string {
  const { status, failureMessage, lastOperation, conditions } = storage;
  if (settled.has(status)) return '';
  if (status === 'Failed' && failureMessage) return failureMessage;
  const answer = lastOperation?.outcome === 'Succeeded' ? undefined : lastOperation?.message;
  return answer || unmet(conditions)?.message || failureMessage || '';
}

/** Ready sums up the others where it is told; before that, such as while no node fits, they speak. */
function unmet(conditions: readonly Condition[] = []): Condition | undefined {
  const told = [findCondition(conditions, 'Ready'), ...conditions];
  return told.find((c) => c !== undefined && c.status !== 'True' && c.message !== '');
}

/** Why an instance is not ready; undefined when it is, or says nothing. */
export function causeOfInstance(instance: Instance, volumeAt: VolumeLookup): Cause | undefined {
  if (findCondition(instance.conditions, 'Ready')?.status === 'True') return undefined;
  for (const key of mountedVolumes(instance)) {
    const volume = volumeAt(key);
    const message = volume ? causeOfStorage(volume) : '';
    if (message !== '') return { object: `Volume ${key}`, message };
  }
  const message = unmet(instance.conditions)?.message || instance.failureMessage || '';
  const object = `Instance ${instance.namespace}/${instance.name}`;
  return message === '' ? undefined : { object, message };
}

/** What ended comes before what is on its way: that may need nothing but time. */
function byUrgency(a: Instance, b: Instance): number {
  const ended = ({ status }: Instance): number =>
    Number(status === 'Failed' || status === 'Exited');
  return ended(b) - ended(a) || a.ordinal - b.ordinal;
}

/** Why a service does not run; undefined when it does, or nobody says anything. */
export function causeOfService(
  service: Service,
  instances: readonly Instance[],
  volumeAt: VolumeLookup,
): Cause | undefined {
  const ready = findCondition(service.conditions, 'Ready');
  const isCurrent = service.observedGeneration === service.metadata.generation;
  if (isCurrent && ready?.status === 'True') return undefined;
  const live = instances.filter((instance) => !isDeleting(instance));
  for (const instance of (live.length > 0 ? live : [...instances]).sort(byUrgency)) {
    const cause = causeOfInstance(instance, volumeAt);
    if (cause) return cause;
  }
  const message = ready?.status === 'True' ? '' : (ready?.message ?? '');
  const object = `Service ${service.namespace}/${service.name}`;
  return message === '' ? undefined : { object, message };
}
