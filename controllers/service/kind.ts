import { keyString, kindOf } from 'kedge/objects';
import {
  instanceTemplateFields,
  type InstanceTemplate,
  type Service,
  serviceSchema,
} from '@kedge/api/kinds';
import { templateStem } from '../references/claim.js';
import { referredKey } from '../references/object-reference.js';

export type {
  DataMount,
  DataMountItem,
  Service,
  ServiceEnvFrom as EnvironmentSource,
  ServiceRuntime as RuntimeName,
  VolumeMount,
  VolumeMountClaimTemplate as ClaimTemplate,
} from '@kedge/api/kinds';

/** Default of minReadySeconds: most failing commands exit within this time. */
export const minReadySecondsDefault = 2;

/** The instance template of a service. */
export function templateOf(service: Service): InstanceTemplate {
  return Object.fromEntries(
    instanceTemplateFields
      .filter((field) => service[field] !== undefined)
      .map((field) => [field, service[field]]),
  );
}

/** The kind Service. */
export const services = kindOf<Service>()({
  ...serviceSchema,
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
