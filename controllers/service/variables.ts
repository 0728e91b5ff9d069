import type { FieldViolation } from 'kedge';
import type { Service } from './kind.js';

/** Names that a shell can set, because the shell of the sandbox sets the workload's variables. */
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Linux permits 128 KiB for a variable. Kedge needs some of it. */
const variableBytesMax = 131_000;

/** The reason why no variable can have a value; undefined if one can. It does not contain the value. */
export function variableProblem(name: string, value: string): string | undefined {
  if (value.includes('\0')) return 'its value must not contain a NUL character';
  const bytes = Buffer.byteLength(name) + Buffer.byteLength(value);
  return bytes > variableBytesMax
    ? `its name and value have ${bytes} bytes; a variable has at most ${variableBytesMax}`
    : undefined;
}

/** Rules of `env` and `envFrom`. */
export function variableViolations({ env = {}, envFrom = [] }: Service): readonly FieldViolation[] {
  const violations: FieldViolation[] = [];
  for (const [name, value] of Object.entries(env)) {
    const violation = (description: string): number =>
      violations.push({ field: `env.${name}`, description });
    if (!variableName.test(name))
      violation(
        `${JSON.stringify(name)} is not a variable name; use letters, digits and _, and no digit first`,
      );
    const problem = variableProblem(name, value);
    if (problem !== undefined) violation(problem);
  }
  for (const [index, { secret, configmap, prefix = '' }] of envFrom.entries()) {
    if (Boolean(secret) === Boolean(configmap))
      violations.push({
        field: `envFrom[${index}]`,
        description: 'must have exactly one of secret and configmap',
      });
    if (prefix !== '' && !variableName.test(prefix))
      violations.push({
        field: `envFrom[${index}].prefix`,
        description: `${JSON.stringify(prefix)} is not a prefix of a variable name; use letters, digits and _, and no digit first`,
      });
  }
  return violations;
}
