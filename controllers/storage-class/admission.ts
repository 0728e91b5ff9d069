import type { FieldViolation } from 'kedge';
import type { AdmissionRules } from 'kedge/server';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { type StorageClass, storageClasses } from './kind.js';
import {
  maskParameters,
  referenceViolations,
  type Sealer,
  holderOf,
  sealParameters,
  storedParameters,
} from '../secret/index.js';
import { dependentViolations, requireUnusedClass } from './dependents.js';

/** Options of the rules of classes. */
export interface StorageClassRuleOptions {
  readonly drivers: DriverRegistry;
  readonly sealer: Sealer;
  /** `[storage].defaultStorageClass` of the node's configuration. */
  readonly defaultStorageClass: string | undefined;
}

/** The violations of allowedTopologies: operators and their values. */
function topologyViolations({ allowedTopologies = [] }: StorageClass): FieldViolation[] {
  const violations: FieldViolation[] = [];
  for (const [index, selector] of allowedTopologies.entries()) {
    const at = `allowedTopologies[${index}]`;
    const labels = Object.keys(selector.matchLabels ?? {});
    const expressions = selector.matchExpressions ?? [];
    if (labels.length + expressions.length === 0)
      violations.push({
        field: at,
        description: 'is empty and would match every node; set matchLabels or matchExpressions',
      });
    for (const [n, { key, operator, values = [] }] of expressions.entries()) {
      const field = `${at}.matchExpressions[${n}]`;
      if (key === '') violations.push({ field: `${field}.key`, description: 'is required' });
      const listed = operator === 'In' || operator === 'NotIn';
      if (listed && values.length === 0)
        violations.push({ field: `${field}.values`, description: `${operator} needs values` });
      if (!listed && values.length > 0)
        violations.push({
          field: `${field}.values`,
          description: `${operator} takes no values; remove them, or use In or NotIn`,
        });
    }
  }
  return violations;
}

/** Rules of storage classes: driver, parameters, a single default, deletion. */
export function storageClassRules(options: StorageClassRuleOptions): AdmissionRules<StorageClass> {
  const { drivers, sealer } = options;
  return {
    async prepare(context, object, before) {
      const driver = await drivers.get(object.driver);
      const sensitive = driver && (driver.capabilities().sensitiveParameters ?? []);
      const stored = await storedParameters(context, storageClasses, before, (c) => c.parameters);
      const holder = holderOf(storageClasses, object);
      const sealing = { sealer, holder, sensitive, stored, field: 'parameters' };
      const parameters = sealParameters(object.parameters, sealing);
      return {
        ...object,
        ...(parameters ? { parameters } : {}),
        reclaimPolicy: object.reclaimPolicy ?? 'retain',
        default: object.default ?? false,
      };
    },
    async validate(context, object, before) {
      const driver = await drivers.get(object.driver);
      if (!driver)
        return [
          {
            field: 'driver',
            description: `${JSON.stringify(object.driver)} is not a registered driver; use one of ${drivers.names.join(', ')}`,
          },
        ];
      const violations: FieldViolation[] = driver
        .validateParameters(object.parameters ?? {}, { level: 'class' })
        .map(({ key, description }) => ({ field: `parameters.${key}`, description }));
      violations.push(...(await referenceViolations(context, object.parameters, undefined)));
      violations.push(...topologyViolations(object));
      if (object.reclaimPolicy === 'delete' && !driver.capabilities().ownsData)
        violations.push({
          field: 'reclaimPolicy',
          description: `"delete" is not allowed for driver ${object.driver}: its data belongs to the user and is never deleted; use retain`,
        });
      if (object.default === true) {
        const others = await context.lookupAll(storageClasses);
        const other = others.find((c) => c.default === true && c.name !== object.name);
        if (other)
          violations.push({
            field: 'default',
            description: `class "${other.name}" is already the default, and only one class can be; unset default there first`,
          });
      }
      if (violations.length > 0) return violations;
      return dependentViolations(context, object, before, driver);
    },
    async validateDelete(context, object, request) {
      if (request.force !== true) await requireUnusedClass(context, object);
    },
    present: (object) => {
      const parameters = maskParameters(object.parameters);
      return {
        ...object,
        ...(parameters ? { parameters } : {}),
        ...(object.name === options.defaultStorageClass ? { configuredDefault: true } : {}),
      };
    },
  };
}
