import { type FieldViolation, jsonEqual } from 'kedge';
import type { AdmissionContext } from 'kedge/server';
import type { InstanceTemplate } from '../instance/kind.js';
import { capabilityNamed, parseUser, usualCapabilities } from './capabilities.js';
import { type Service, templateOf } from './kind.js';

/** The verb on `services` that capabilities beyond the usual ones need. */
const elevateVerb = 'elevate';
/** A list of only this value means no capability. */
const noCapability = 'none';

/** The fields in stored form: capability names in lower case without `CAP_`. */
export function storedRights({ capabilities }: InstanceTemplate): InstanceTemplate {
  if (capabilities === undefined) return {};
  const stored = (name: string): string =>
    capabilityNamed(name) ?? (name.toLowerCase() === noCapability ? noCapability : name);
  return { capabilities: capabilities.map(stored) };
}

/** The violations of `user` and `capabilities`. */
export function rightsViolations({ user, capabilities = [] }: Service): readonly FieldViolation[] {
  const violations: FieldViolation[] = [];
  if (user && parseUser(user) === undefined)
    violations.push({
      field: 'user',
      description: `${JSON.stringify(user)} must be a name of a user of the node, a uid, or uid:gid, such as web, 1000 or 1000:1000`,
    });
  for (const [index, name] of capabilities.entries()) {
    const violation = (description: string): number =>
      violations.push({
        field: `capabilities[${index}]`,
        description: `${JSON.stringify(name)} ${description}`,
      });
    if (name === noCapability) {
      if (capabilities.length > 1)
        violation('excludes other capabilities; remove it, or the others');
    } else if (capabilityNamed(name) === undefined)
      violation(
        'is not a capability; use names of capabilities(7) such as net_bind_service, or only none',
      );
    else if (capabilities.indexOf(name) < index) violation('is listed twice; remove one');
  }
  return violations;
}

/**
 * A workload may leave the sandbox with a capability beyond the usual ones, so writing a template with one needs a
 * right. A write that does not change the template, such as scaling, needs none.
 */
export async function elevationViolations(
  context: AdmissionContext,
  service: Service,
  before: Service | undefined,
): Promise<readonly FieldViolation[]> {
  const usual: readonly string[] = [...usualCapabilities, noCapability];
  const index = (service.capabilities ?? []).findIndex((name) => !usual.includes(name));
  if (index < 0 || (before && jsonEqual(whatRuns(before), whatRuns(service)))) return [];
  if (await context.can('services', elevateVerb, service.namespace)) return [];
  return [
    {
      field: `capabilities[${index}]`,
      description: `"${service.capabilities?.[index] ?? ''}" is none of ${usualCapabilities.join(', ')} and needs the verb ${elevateVerb} on services in namespace ${service.namespace}; remove it, or ask an administrator to cast the service or to grant that`,
    },
  ];
}

/** The template without the fields that a restart changes. */
function whatRuns(service: Service): InstanceTemplate {
  const { restartedAt: _, ...template } = templateOf(service);
  return template;
}
