import { type ApiObject, type Condition, keyString, kindOf } from 'kedge';
import { type AccessMode, type ReclaimPolicy, referredKey } from './volume.js';

/** How workloads run. */
export type RuntimeName = 'container' | 'process';

/** A claim on an existing volume, or a template for one volume a replica. */
export type VolumeSource =
  | { readonly claim: { readonly name: string }; readonly claimTemplate?: never }
  | { readonly claim?: never; readonly claimTemplate: ClaimTemplate };

/** What each replica's own volume looks like. */
export interface ClaimTemplate {
  readonly storageClassName?: string;
  readonly size: string;
  readonly accessMode: AccessMode;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly reclaimPolicy?: ReclaimPolicy;
  /** What becomes of a replica's volume when the replica goes. */
  readonly retention?: {
    /** Default retain: scaled up again, an ordinal finds its data. */
    readonly whenScaled?: ReclaimPolicy;
    /** Default: the volume's reclaim policy. */
    readonly whenDeleted?: ReclaimPolicy;
  };
}

/** One entry of volumes[] (specification section 2.4). */
export type VolumeMount = VolumeSource & {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  readonly subPath?: string;
};

/** Every key of a secret or of a configmap as an environment variable: exactly one of them. */
export interface EnvironmentSource {
  readonly secret?: string;
  readonly configmap?: string;
  readonly prefix?: string;
}

/** Keys of a secret or of a configmap as read-only files in a directory. */
export interface DataMount {
  /** Of the secret or configmap, in the service's namespace. */
  readonly name: string;
  readonly mountPath: string;
  /** Which keys, and as which files; absent or empty: every key, as the file of its name. */
  readonly items?: readonly DataMountItem[];
}

/** One file of a {@link DataMount}. */
export interface DataMountItem {
  readonly key: string;
  /** Relative to the mount path, without `..`. */
  readonly path: string;
}

/** What an instance is made from. */
export interface InstanceTemplate {
  readonly runtime?: RuntimeName;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  /** A name, a uid or uid:gid; absent: the user of the daemon. */
  readonly user?: string;
  /** The whole list of Linux capabilities that the command keeps, or `none` alone; absent or empty: the default. */
  readonly capabilities?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly envFrom?: readonly EnvironmentSource[];
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly volumes?: readonly VolumeMount[];
  readonly secretMounts?: readonly DataMount[];
  readonly configmapMounts?: readonly DataMount[];
  readonly terminationGracePeriodSeconds?: number;
  /** Another time makes another template, so its instances are replaced. */
  readonly restartedAt?: string;
}

/** Most commands that can't do their work have ended by then. */
export const minReadySecondsDefault = 2;

/** Replicas of one workload. */
export interface Service extends ApiObject, InstanceTemplate {
  readonly namespace: string;
  /** Replicas; default 1. */
  readonly scale?: number;
  /** An instance is ready once it has run for this long; default {@link minReadySecondsDefault}. No part of the template. */
  readonly minReadySeconds?: number;

  readonly status?: 'Pending' | 'Running' | 'Deploying' | 'Degraded' | 'Failed' | 'Deleting';
  readonly readyInstances?: number;
  readonly currentInstances?: number;
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
}

const templateFields = [
  'runtime',
  'image',
  'command',
  'args',
  'workingDir',
  'user',
  'capabilities',
  'env',
  'envFrom',
  'restartPolicy',
  'nodeSelector',
  'volumes',
  'secretMounts',
  'configmapMounts',
  'terminationGracePeriodSeconds',
  'restartedAt',
] as const satisfies readonly (keyof InstanceTemplate)[];

/** The part of a service that its instances are made from. */
export function templateOf(service: Service): InstanceTemplate {
  return Object.fromEntries(
    templateFields
      .filter((field) => service[field] !== undefined)
      .map((field) => [field, service[field]]),
  );
}

/** Name of the volume that a claimTemplate makes for a replica (specification section 2.4). */
export function templateVolumeName(mount: string, service: string, ordinal: number): string {
  return `${mount}-${service}-${ordinal}`;
}

/** What precedes the ordinal in the names of the volumes of a claimTemplate, with the namespace. */
export function templateStem(namespace: string, mount: string, service: string): string {
  return `${namespace}/${mount}-${service}`;
}

export const services = kindOf<Service>()({
  kind: 'Service',
  plural: 'services',
  shortNames: ['svc', 'service'],
  scope: 'Namespaced',
  statusFields: [
    'status',
    'readyInstances',
    'currentInstances',
    'observedGeneration',
    'conditions',
  ],
  initialStatus: { status: 'Pending', readyInstances: 0, currentInstances: 0 },
  indexes: {
    /** `<namespace>/<volume>` of each claim. */
    claimedVolume: ({ namespace, volumes = [] }) =>
      volumes.flatMap(({ claim }) => {
        const key = claim && referredKey(claim.name, namespace);
        return key ? [keyString(key)] : [];
      }),
    /** Class of each claimTemplate. */
    storageClass: ({ volumes = [] }) =>
      volumes.flatMap(({ claimTemplate }) =>
        claimTemplate?.storageClassName ? [claimTemplate.storageClassName] : [],
      ),
    /** See {@link templateStem}. */
    templateStem: ({ namespace, name, volumes = [] }) =>
      volumes.flatMap((mount) =>
        mount.claimTemplate ? [templateStem(namespace, mount.name, name)] : [],
      ),
  },
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'RUNTIME', value: (o) => o.runtime },
    { header: 'STATUS', value: (o) => o.status },
    { header: 'READY', value: (o) => `${o.readyInstances ?? 0}/${o.scale ?? 1}` },
    { header: 'GENERATION', value: (o) => o.metadata.generation, wide: true },
  ],
});
