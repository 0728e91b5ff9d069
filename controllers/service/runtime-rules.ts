import type { FieldViolation } from 'kedge';
import { imageViolations } from './image/image-rules.js';
import type { Service } from './kind.js';
import { portViolations, resourceViolations } from '../resources/index.js';
import { nameMax } from './replica-names.js';
import { variableViolations } from './variables.js';
import { rightsViolations } from './workload-rights.js';

/**
 * The violations of command, image, variables, rights, ports and resources of a service, and of its instances' names.
 */
export function runtimeViolations(service: Service): FieldViolation[] {
  const violations: FieldViolation[] = [...imageViolations(service)];
  if (service.runtime === 'process' && (service.command ?? []).length === 0)
    violations.push({ field: 'command', description: 'is required for runtime process' });
  for (const field of ['command', 'args'] as const)
    for (const [index, word] of (service[field] ?? []).entries())
      if (word.includes('\0'))
        violations.push({
          field: `${field}[${index}]`,
          description: 'must not contain a NUL character',
        });
  violations.push(
    ...rightsViolations(service),
    ...variableViolations(service),
    ...portViolations(service),
    ...resourceViolations(service),
  );
  const last = Math.max(0, (service.scale ?? 1) - 1);
  const longest = `${service.name}-${last}`;
  if (longest.length > nameMax)
    violations.push({
      field: 'name',
      description: `its instance "${longest}" would have ${longest.length} characters, and at most ${nameMax} are allowed; shorten the name of the service`,
    });
  return violations;
}
