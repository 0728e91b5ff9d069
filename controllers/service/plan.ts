import { findCondition, isDeleting, jsonEqual } from 'kedge';
import {
  type Instance,
  type Service,
  templateOf,
  templateVolumeName,
  type Volume,
  type VolumeMount,
} from '../kinds/index.js';

/** What is known when a service is looked at. */
export interface ServiceSituation {
  readonly service: Service;
  readonly instances: readonly Instance[];
  /** Volumes of the service's namespace by name. */
  readonly volumeNamed: (name: string) => Volume | undefined;
}

/** A volume that a claimTemplate asks for. */
export interface WantedVolume {
  readonly name: string;
  readonly mount: VolumeMount;
  readonly ordinal: number;
}

/** What a service needs now. */
export interface ServicePlan {
  readonly createVolumes: readonly WantedVolume[];
  readonly createInstances: readonly number[];
  readonly deleteInstances: readonly Instance[];
  /** Nothing of the service is left: its finalizer can go. */
  readonly finish: boolean;
  readonly status: Pick<Service, 'status' | 'readyInstances' | 'currentInstances'>;
}

/** True for an instance that does its work. */
export function isReady(instance: Instance): boolean {
  return findCondition(instance.conditions, 'Ready')?.status === 'True';
}

function statusOf(situation: ServiceSituation, stale: number): ServicePlan['status'] {
  const { service, instances } = situation;
  const scale = service.scale ?? 1;
  const readyInstances = instances.filter((i) => isReady(i) && !isDeleting(i)).length;
  const currentInstances = instances.length;
  const counts = { readyInstances, currentInstances };
  if (isDeleting(service)) return { ...counts, status: 'Deleting' };
  if (stale > 0) return { ...counts, status: 'Deploying' };
  if (readyInstances >= scale && currentInstances === scale)
    return { ...counts, status: 'Running' };
  if (instances.some((i) => i.status === 'Failed')) {
    const all = instances.every((i) => i.status === 'Failed');
    return { ...counts, status: all ? 'Failed' : 'Degraded' };
  }
  return { ...counts, status: readyInstances > 0 ? 'Degraded' : 'Pending' };
}

/** Decides what a service needs. Pure. */
export function planService(situation: ServiceSituation): ServicePlan {
  const { service, instances, volumeNamed } = situation;
  const live = instances.filter((i) => !isDeleting(i));
  if (isDeleting(service)) {
    return {
      createVolumes: [],
      createInstances: [],
      deleteInstances: live,
      finish: instances.length === 0,
      status: statusOf(situation, 0),
    };
  }
  const scale = service.scale ?? 1;
  const template = templateOf(service);
  const ordinals = Array.from({ length: scale }, (_, ordinal) => ordinal);
  const taken = new Set(instances.map((i) => i.ordinal));
  const surplus = live.filter((i) => i.ordinal >= scale);
  const stale = live.filter((i) => i.ordinal < scale && !jsonEqual(i.template, template));
  // One replica at a time, highest ordinal first, and only while none is on its way out.
  const replacing = instances.some((i) => isDeleting(i) && i.ordinal < scale);
  const replace = replacing ? [] : stale.sort((a, b) => b.ordinal - a.ordinal).slice(0, 1);
  const wanted = (service.volumes ?? [])
    .filter((mount) => mount.claimTemplate !== undefined)
    .flatMap((mount) =>
      ordinals.map((ordinal) => ({
        name: templateVolumeName(mount.name, service.name, ordinal),
        mount,
        ordinal,
      })),
    );
  return {
    createVolumes: wanted.filter(({ name }) => volumeNamed(name) === undefined),
    createInstances: ordinals.filter((ordinal) => !taken.has(ordinal)),
    deleteInstances: [...surplus, ...replace],
    finish: false,
    status: statusOf(situation, stale.length),
  };
}
