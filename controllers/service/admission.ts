import type { FieldViolation } from 'kedge';
import type { AdmissionContext, AdmissionRules } from 'kedge/server';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { volumes } from '../volume/kind.js';
import { type ClaimTemplate, type Service, services, type VolumeMount } from './kind.js';
import {
  referenceViolations,
  type Sealer,
  holderOf,
  sealParameters,
  type Sealing,
  storedParameters,
  maskParameters,
} from '../secret/index.js';
import {
  classBasis,
  classNamed,
  processViolations,
  shapeViolations,
} from '../storage-class/index.js';
import { classNameOf } from '../volume/index.js';
import { claimedVolume, templateVolumeName } from '../references/claim.js';
import { mountViolations } from './mount-rules.js';
import { nameMax, requireFreeNames } from './replica-names.js';
import { runtimeViolations } from './runtime-rules.js';
import { elevationViolations, storedRights } from './workload-rights.js';

/** Present until no instance of the service is left. */
export const serviceFinalizer = 'svc.io/service';

/** Options of the rules of services. */
export interface ServiceRuleOptions {
  readonly drivers: DriverRegistry;
  readonly sealer: Sealer;
  readonly defaultStorageClass: string | undefined;
}

/** Rules of services: names, runtime, and all rules of volumes[]. */
class ServiceRules {
  readonly #options: ServiceRuleOptions;

  constructor(options: ServiceRuleOptions) {
    this.#options = options;
  }

  async prepare(context: AdmissionContext, object: Service, before?: Service): Promise<Service> {
    const mounts = await Promise.all(
      (object.volumes ?? []).map(async (mount, index) => {
        if (!mount.claimTemplate) return mount;
        const stored = await storedParameters(
          context,
          services,
          before,
          (service) =>
            service.volumes?.find((m) => m.name === mount.name)?.claimTemplate?.parameters,
        );
        const field = `volumes[${index}].claimTemplate.parameters`;
        const sealing = { holder: holderOf(services, object), stored, field };
        return {
          ...mount,
          claimTemplate: await this.#prepareTemplate(context, mount.claimTemplate, sealing),
        };
      }),
    );
    const restartedAt = object.restartedAt || before?.restartedAt;
    return {
      ...object,
      ...(restartedAt ? { restartedAt } : {}),
      runtime: object.runtime ?? 'container',
      scale: object.scale ?? 1,
      restartPolicy: object.restartPolicy ?? 'Always',
      terminationGracePeriodSeconds: object.terminationGracePeriodSeconds ?? 30,
      ...storedRights(object),
      ...(object.volumes ? { volumes: mounts } : {}),
    };
  }

  async #prepareTemplate(
    context: AdmissionContext,
    template: ClaimTemplate,
    sealing: Pick<Sealing, 'holder' | 'stored' | 'field'>,
  ): Promise<ClaimTemplate> {
    const named = template.storageClassName;
    const storageClassName = await classNameOf(context, named, this.#options.defaultStorageClass);
    const storageClass = await classNamed(context, storageClassName);
    const driver = storageClass && (await this.#options.drivers.get(storageClass.driver));
    const sensitive = driver && (driver.capabilities().sensitiveParameters ?? []);
    const { sealer } = this.#options;
    const parameters = sealParameters(template.parameters, { ...sealing, sealer, sensitive });
    return { ...template, storageClassName, ...(parameters ? { parameters } : {}) };
  }

  async validate(
    context: AdmissionContext,
    service: Service,
    before?: Service,
  ): Promise<readonly FieldViolation[]> {
    const mounts = service.volumes ?? [];
    const violations = [
      ...runtimeViolations(service),
      ...(await elevationViolations(context, service, before)),
      ...mountViolations(service),
    ];
    for (const [index, mount] of mounts.entries()) {
      const at = `volumes[${index}]`;
      if (mount.claimTemplate)
        violations.push(
          ...(await this.#templateViolations(context, service, mount, mount.claimTemplate, at)),
        );
      else if (mount.claim)
        violations.push(
          ...(await this.#claimViolations(context, service, mount.claim.name, `${at}.claim.name`)),
        );
    }
    if (violations.length === 0) await requireFreeNames(context, service);
    return violations;
  }

  async #templateViolations(
    context: AdmissionContext,
    service: Service,
    mount: VolumeMount,
    template: ClaimTemplate,
    at: string,
  ): Promise<readonly FieldViolation[]> {
    const field = `${at}.claimTemplate`;
    const storageClassName = template.storageClassName ?? '';
    const storageClass = await classNamed(context, storageClassName);
    if (!storageClass) {
      const description = `storage class "${storageClassName}" does not exist; create it, or use another`;
      return [{ field: `${field}.storageClassName`, description }];
    }
    const driver = await this.#options.drivers.get(storageClass.driver);
    if (!driver) return [];
    const found = [
      ...shapeViolations(template, classBasis(storageClass, driver)),
      ...(await referenceViolations(context, template.parameters, service.namespace)),
    ];
    const violations = found.map((v) => ({ ...v, field: `${field}.${v.field}` }));
    const scale = service.scale ?? 1;
    const longest = templateVolumeName(mount.name, service.name, Math.max(0, scale - 1));
    if (longest.length > nameMax)
      violations.push({
        field: `${at}.name`,
        description: `its volume "${longest}" would have ${longest.length} characters, and at most ${nameMax} are allowed; shorten the name of the mount or of the service`,
      });
    for (const when of ['whenScaled', 'whenDeleted'] as const)
      if (template.retention?.[when] === 'delete' && !driver.capabilities().ownsData)
        violations.push({
          field: `${field}.retention.${when}`,
          description: `"delete" is not allowed for driver ${driver.name}: its data belongs to the user and is never deleted; use retain`,
        });
    if (!driver.capabilities().ownsData && scale > 1)
      violations.push({
        field: `${field}.storageClassName`,
        description: `all ${scale} replicas would share one host path of driver ${driver.name}; use scale 1 or another class`,
      });
    violations.push(...processViolations(service, driver.name, `${field}.storageClassName`));
    return violations;
  }

  async #claimViolations(
    context: AdmissionContext,
    service: Service,
    claim: string,
    field: string,
  ): Promise<readonly FieldViolation[]> {
    const key = claimedVolume(claim, service.namespace);
    if (!key)
      return [
        {
          field,
          description: `${JSON.stringify(claim)} must be a volume's name or <name>.<namespace>.svc`,
        },
      ];
    if (
      key.namespace !== service.namespace &&
      !(await context.can('volumes', 'get', key.namespace))
    )
      return [
        {
          field,
          description: `names a volume in namespace ${key.namespace}, which you are not permitted to read`,
        },
      ];
    const volume = await context.lookup(volumes, key, { status: ['driver'] });
    // A missing volume is accepted: the instance waits for it.
    if (!volume) return [];
    const violations: FieldViolation[] = [];
    const scale = service.scale ?? 1;
    if (volume.accessMode === 'ReadWriteOnce' && scale > 1)
      violations.push({
        field,
        description: `volume "${key.name}" is ReadWriteOnce and can be claimed only at scale 1, but scale is ${scale}; use claimTemplate for one volume per replica`,
      });
    const storageClass = await classNamed(context, volume.storageClassName);
    const driver = volume.driver || storageClass?.driver;
    if (driver !== undefined) violations.push(...processViolations(service, driver, field));
    return violations;
  }
}

/** Rules of services. */
export function serviceRules(options: ServiceRuleOptions): AdmissionRules<Service> {
  const rules = new ServiceRules(options);
  return {
    finalizers: [serviceFinalizer],
    prepare: (context, object, before) => rules.prepare(context, object, before),
    validate: (context, object, before) => rules.validate(context, object, before),
    present: (service) => ({ ...service, ...maskedTemplates(service) }),
  };
}

/** A template's volumes[] with sensitive literals masked. */
export function maskedTemplates(template: { readonly volumes?: readonly VolumeMount[] }): {
  readonly volumes?: readonly VolumeMount[];
} {
  if (!template.volumes) return {};
  return {
    volumes: template.volumes.map((mount) => {
      const parameters = maskParameters(mount.claimTemplate?.parameters);
      if (!mount.claimTemplate || !parameters) return mount;
      return { ...mount, claimTemplate: { ...mount.claimTemplate, parameters } };
    }),
  };
}
