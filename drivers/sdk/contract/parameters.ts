import type { ParameterContext, Parameters, ParameterViolation } from './driver.js';
import { DriverError } from '../errors/errors.js';
import { parameterRefused } from '../messages/driver-messages.js';

export { nodeTopologyKey } from './driver.js';
export {
  credentialForms,
  credentialsIn,
  type CredentialsByDriver,
  type DeclaredCredentials,
  secretNameIn,
} from './declared-credentials.js';

/** A parameter as data. */
export interface ParameterRule {
  readonly key: string;
  /**
   * `class`: the class must have it, because volumes of the class have it in common. True: class or volume must have
   * it.
   */
  readonly required?: boolean | 'class';
  /** Closed list of values. */
  readonly values?: readonly string[];
  /** Further keys that satisfy `required`. */
  readonly aliases?: readonly string[];
  /** The value is a credential. */
  readonly sensitive?: boolean;
  /** The value selects the credentials of a call without being one. */
  readonly credential?: boolean;
  /** The value must be a whole number from 1 to 9999999999. */
  readonly wholeNumber?: boolean;
}

/** True for `secret:...`, whose value is known only when the driver is called. */
export function isSecretReference(value: string): boolean {
  return value.startsWith('secret:');
}

/**
 * Validates parameters by their rules; unknown keys are refused by name. Neither values of sensitive parameters nor
 * resolved ones are quoted: they may be secrets.
 */
export function validateByRules(
  rules: readonly ParameterRule[],
  parameters: Parameters,
  context: ParameterContext,
): readonly ParameterViolation[] {
  const violations: ParameterViolation[] = [];
  const known = new Set(rules.flatMap((rule) => [rule.key, ...(rule.aliases ?? [])]));
  for (const key of Object.keys(parameters)) {
    if (known.has(key)) continue;
    const list = [...known].join(', ') || 'none';
    violations.push({
      key,
      description: `is not a parameter of this driver; its parameters: ${list}`,
    });
  }
  for (const rule of rules) {
    const key = [rule.key, ...(rule.aliases ?? [])].find((k) => (parameters[k] ?? '') !== '');
    const value = key === undefined ? undefined : parameters[key];
    if (value === undefined) {
      if (rule.required === 'class' || (rule.required && context.level !== 'class'))
        violations.push({ key: rule.key, description: 'is required by this driver' });
      continue;
    }
    const resolved = context.level === 'resolved';
    if (!resolved && isSecretReference(value)) continue;
    const shown = resolved || rule.sensitive ? 'the value' : JSON.stringify(value);
    if (rule.values && !rule.values.includes(value))
      violations.push({
        key: rule.key,
        description: `${shown} is not allowed; use one of ${rule.values.join(', ')}`,
      });
    if (rule.wholeNumber && !/^[1-9]\d{0,9}$/.test(value))
      violations.push({
        key: rule.key,
        description: `${shown} must be a whole number from 1 to 9999999999`,
      });
  }
  return violations;
}

/**
 * Refuses the parameters of a call if they have violations.
 * @throws DriverError InvalidParameters with all of them
 */
export function requireParameters(violations: readonly ParameterViolation[]): void {
  if (violations.length === 0) return;
  const reported = violations.map(
    ({ key, description }) => `${parameterRefused.format({ key })}${description}`,
  );
  throw new DriverError('InvalidParameters', reported.join('; '));
}

/** Keys whose literal values are credentials. */
export function sensitiveKeys(rules: readonly ParameterRule[]): readonly string[] {
  return rules.filter((rule) => rule.sensitive).map((rule) => rule.key);
}

/** Keys that choose the credentials of a call. */
export function credentialKeys(rules: readonly ParameterRule[]): readonly string[] {
  return rules.filter((rule) => rule.sensitive || rule.credential).map((rule) => rule.key);
}

/** File systems that block drivers offer (specification section 8). */
export const fsTypeRule: ParameterRule = { key: 'fsType', values: ['ext4', 'xfs'] };
