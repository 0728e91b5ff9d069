import { isDeleting, keyString, kindOf, type StatusUpdate } from 'kedge/objects';
import { type Volume, volumeSchema } from '@kedge/api/kinds';
import type { Reason } from '../reasons/index.js';
import { referredKey } from '../references/object-reference.js';
import { secretsOfAnyDriver } from '../references/needed-parameters.js';
import { shownCapacity } from '../resources/readable-size.js';
import { type NextVolumePhase, volumeStates } from './states/phases.js';

export type {
  Volume,
  VolumeAccessMode as AccessMode,
  VolumeAttachment as Attachment,
  VolumeOperation as DriverOperation,
  VolumePhase,
  VolumeReclaimPolicy as ReclaimPolicy,
} from '@kedge/api/kinds';

/** The source snapshot of a volume, if any. */
export function sourceSnapshot(
  volume: Pick<Volume, 'namespace' | 'source'>,
): { readonly namespace: string; readonly name: string } | undefined {
  return volume.source && referredKey(volume.source.snapshot, volume.namespace);
}

/**
 * Splits the name of a replica's volume, `data-db-0`, into its stem with the namespace, `<namespace>/data-db`, and the
 * ordinal. Other names may have this form too; undefined for those that do not.
 */
export function replicaName({
  namespace,
  name,
}: Pick<Volume, 'namespace' | 'name'>):
  | { readonly stem: string; readonly ordinal: number }
  | undefined {
  const match = /^(.+)-(0|[1-9]\d{0,8})$/.exec(name);
  if (!match) return undefined;
  return { stem: `${namespace}/${match[1]}`, ordinal: Number(match[2]) };
}

/** The index value of a provider's resource, by its handle or its name. */
export function resourceKey(driver: string, handle: string): string {
  return `${driver} ${handle}`;
}

/** The kind Volume. */
export const volumes = kindOf<Volume>()({
  ...volumeSchema,
  states: volumeStates,
  indexes: {
    storageClass: (volume) => [volume.storageClassName],
    /** `<namespace>/<service>` of the owning service. */
    ownerService: ({ ownerService }) => (ownerService ? [ownerService] : []),
    /** `<namespace>/<snapshot>` */
    sourceSnapshot: (volume) => {
      const key = sourceSnapshot(volume);
      return key ? [keyString(key)] : [];
    },
    /** Secrets that its deletion may need without its class, with any driver, `<namespace>/<name>`. */
    neededSecret: (volume) => (isDeleting(volume) ? secretsOfAnyDriver(volume) : []),
    /** `<driver> <handle>`: one resource of a provider. */
    resource: ({ driver = '', handle = '' }) =>
      driver === '' || handle === '' ? [] : [resourceKey(driver, handle)],
    /** `<driver> <name>`: the name of the provider's resource that was imported. */
    importedAs: ({ driver = '', importedAs = '' }) =>
      importedAs === '' ? [] : [resourceKey(driver, importedAs)],
    /** See {@link replicaName}. */
    replicaStem: (volume) => {
      const replica = replicaName(volume);
      return replica ? [replica.stem] : [];
    },
  },
  columns: [
    { header: 'NAME', value: (o) => o.name },
    { header: 'CLASS', value: (o) => o.storageClassName },
    { header: 'STATUS', value: (o) => o.status },
    // The size that it has, and the one that is requested: they differ while it grows.
    { header: 'CAPACITY', value: (o) => shownCapacity(o) },
    { header: 'SIZE', value: (o) => o.size },
    { header: 'MODE', value: (o) => o.accessMode },
    { header: 'CLAIM', value: (o) => o.boundClaim },
    { header: 'HANDLE', value: (o) => o.handle, wide: true },
    { header: 'REASON', value: (o) => o.reason, wide: true },
  ],
});

type Update = StatusUpdate<Volume, (typeof volumes)['statusFields'][number]>;

/** A change of some status fields of a volume; its phase must come from the table of transitions. */
export type VolumeStatus = Omit<Update, 'status' | 'reason'> & {
  readonly status?: NextVolumePhase;
  readonly reason?: Reason;
};
