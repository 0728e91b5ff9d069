import { findCondition, isDeleting, jsonEqual } from 'kedge';
import type { Instance, InstanceTemplate } from '../instance/kind.js';
import type { ReclaimPolicy, Volume } from '../volume/kind.js';
import { templateVolumeName } from '../references/claim.js';
import { type ClaimTemplate, type Service, templateOf, type VolumeMount } from './kind.js';
import { isSealed, sealedBody } from '../secret/index.js';
import { isDeletionUnderWay } from '../volume/index.js';

/** The inputs of a plan for a service. */
export interface ServiceSituation {
  readonly service: Service;
  readonly instances: readonly Instance[];
  /** Volumes of the service's namespace by name. */
  readonly volumeNamed: (name: string) => Volume | undefined;
  /** Volumes of its templates. */
  readonly ownedVolumes: readonly Volume[];
}

/** A volume that a claimTemplate requires. */
export interface WantedVolume {
  readonly name: string;
  readonly mount: VolumeMount;
  readonly ordinal: number;
}

/** The required changes of a service. */
export interface ServicePlan {
  readonly createVolumes: readonly WantedVolume[];
  readonly createInstances: readonly number[];
  readonly deleteInstances: readonly Instance[];
  /** Instances whose minReadySeconds differs from the service. */
  readonly paceInstances: readonly Instance[];
  /** Volumes of removed ordinals, if retention.whenScaled is delete. */
  readonly deleteVolumes: readonly Volume[];
  /** For a service in deletion: volumes whose policy retention.whenDeleted overrides. */
  readonly policies: readonly { readonly volume: Volume; readonly reclaimPolicy: ReclaimPolicy }[];
  /**
   * The ordinal whose instance of the newest template must be ready before the next stale instance is replaced; absent
   * if none is awaited.
   */
  readonly waitsFor?: number;
  /** The service has no instances left: its finalizer can be removed. */
  readonly finish: boolean;
  /** Instances of an older template. */
  readonly stale: number;
  /** Counts existing instances only. */
  readonly status: Pick<Service, 'status' | 'readyInstances' | 'currentInstances'>;
}

/** True for an instance whose workload is ready. */
export function isReady(instance: Instance): boolean {
  return findCondition(instance.conditions, 'Ready')?.status === 'True';
}

/**
 * The status of a service.
 * @param stale instances of an older template
 * @param created instances that are stored together with the status
 */
export function statusOf(
  { service, instances }: ServiceSituation,
  stale: number,
  created = 0,
): ServicePlan['status'] {
  const scale = service.scale ?? 1;
  const readyInstances = instances.filter((i) => isReady(i) && !isDeleting(i)).length;
  const currentInstances = instances.length + created;
  const counts = { readyInstances, currentInstances };
  if (isDeleting(service)) return { ...counts, status: 'Deleting' };
  if (stale > 0) return { ...counts, status: 'Deploying' };
  if (readyInstances >= scale && currentInstances === scale)
    return { ...counts, status: 'Running' };
  if (instances.some((i) => i.status === 'Failed')) {
    const all = created === 0 && instances.every((i) => i.status === 'Failed');
    return { ...counts, status: all ? 'Failed' : 'Degraded' };
  }
  return { ...counts, status: readyInstances > 0 ? 'Degraded' : 'Pending' };
}

/**
 * The claimTemplate and the ordinal of a volume, by its name; undefined if no template of the service has this name.
 */
function originOf(
  service: Service,
  volume: Volume,
): { readonly template: ClaimTemplate; readonly ordinal: number } | undefined {
  for (const mount of service.volumes ?? []) {
    const prefix = templateVolumeName(mount.name, service.name, 0).slice(0, -1);
    const ordinal = volume.name.slice(prefix.length);
    if (mount.claimTemplate && volume.name.startsWith(prefix) && /^\d+$/.test(ordinal))
      return { template: mount.claimTemplate, ordinal: Number(ordinal) };
  }
  return undefined;
}

/** Volumes that are deleted with their ordinal, once its instance released them. */
function scaledAway({ service, instances, ownedVolumes }: ServiceSituation): readonly Volume[] {
  const scale = service.scale ?? 1;
  return ownedVolumes.filter((volume) => {
    const origin = originOf(service, volume);
    if (!origin || origin.ordinal < scale || isDeleting(volume)) return false;
    if (origin.template.retention?.whenScaled !== 'delete') return false;
    const used = (volume.attachments?.length ?? 0) > 0;
    return !used && !instances.some((instance) => instance.ordinal === origin.ordinal);
  });
}

function policiesAtDeletion({ service, ownedVolumes }: ServiceSituation): ServicePlan['policies'] {
  return ownedVolumes.flatMap((volume) => {
    const wanted = originOf(service, volume)?.template.retention?.whenDeleted;
    if (wanted === undefined || volume.reclaimPolicy === wanted) return [];
    // Its driver may be deleting the data already.
    if (isDeletionUnderWay(volume)) return [];
    return [{ volume, reclaimPolicy: wanted }];
  });
}

/** Whether two templates are equal. A value that was only sealed again is equal, so that it causes no restart. */
function sameTemplate(a: InstanceTemplate, b: InstanceTemplate): boolean {
  return jsonEqual(a, b) || jsonEqual(withoutWraps(a), withoutWraps(b));
}

function withoutWraps(value: unknown): unknown {
  if (typeof value === 'string') return isSealed(value) ? sealedBody(value) : value;
  if (Array.isArray(value)) return value.map(withoutWraps);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, withoutWraps(v)]));
}

/** Instances that are not ready first, because they serve nothing; then the highest ordinal. */
function byReplacement(a: Instance, b: Instance): number {
  return Number(isReady(a)) - Number(isReady(b)) || b.ordinal - a.ordinal;
}

/**
 * The ordinal that must be ready before the next replacement; undefined if none is awaited. Only instances of the
 * newest template are awaited. A broken template therefore takes down one replica, and a further template replaces it
 * without waiting for it.
 */
function replacementWait(
  fresh: readonly Instance[],
  missing: readonly number[],
): number | undefined {
  const [ordinal] = missing;
  return ordinal ?? fresh.find((instance) => !isReady(instance))?.ordinal;
}

/**
 * The message of the first instance that is not ready, or, if the service is being deleted, not deleted; undefined if
 * none has a message.
 */
export function waitOf({ service, instances }: ServiceSituation): string | undefined {
  const waiting = [...instances]
    .sort((a, b) => a.ordinal - b.ordinal)
    .filter((instance) => isDeleting(service) || !isReady(instance));
  for (const { name, conditions = [] } of waiting) {
    const unmet =
      findCondition(conditions, 'Ready') ?? conditions.find(({ status }) => status !== 'True');
    if (unmet?.message && unmet.status !== 'True') return `${name}: ${unmet.message}`;
  }
  return undefined;
}

/** Decides the changes of a service. Pure. */
export function planService(situation: ServiceSituation): ServicePlan {
  const { service, instances, volumeNamed } = situation;
  const live = instances.filter((i) => !isDeleting(i));
  if (isDeleting(service)) {
    return {
      createVolumes: [],
      createInstances: [],
      deleteInstances: live,
      paceInstances: [],
      deleteVolumes: [],
      policies: policiesAtDeletion(situation),
      finish: instances.length === 0,
      stale: 0,
      status: statusOf(situation, 0),
    };
  }
  const scale = service.scale ?? 1;
  const template = templateOf(service);
  const ordinals = Array.from({ length: scale }, (_, ordinal) => ordinal);
  const taken = new Set(instances.map((i) => i.ordinal));
  const surplus = live.filter((i) => i.ordinal >= scale);
  const stale = live.filter((i) => i.ordinal < scale && !sameTemplate(i.template, template));
  const missing = ordinals.filter((ordinal) => !live.some((i) => i.ordinal === ordinal));
  const fresh = live.filter((i) => i.ordinal < scale && !stale.includes(i));
  const waitsFor = stale.length > 0 ? replacementWait(fresh, missing) : undefined;
  const replace = waitsFor !== undefined ? [] : stale.sort(byReplacement).slice(0, 1);
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
    paceInstances: fresh.filter((i) => i.minReadySeconds !== service.minReadySeconds),
    deleteVolumes: scaledAway(situation),
    policies: [],
    ...(waitsFor === undefined ? {} : { waitsFor }),
    finish: false,
    stale: stale.length,
    status: statusOf(situation, stale.length),
  };
}
