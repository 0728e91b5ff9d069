import {
  DriverError,
  isSecretReference,
  type ParameterContext,
  type ParameterRule,
  type Parameters,
  type ParameterViolation,
} from '@kedge/driver-sdk';

/** The driver's parameters (specification section 2.5), without `fsType`, which all block drivers have. */
export const cloud2Parameters: readonly ParameterRule[] = [
  { key: 'location', aliases: ['region'], required: 'class' },
  { key: 'apiToken', sensitive: true },
];

/**
 * Checks that `location` and its alias `region` are equal if both are given. Secret references are compared once they
 * are resolved, and are not quoted then.
 */
export function locationViolations(
  { location = '', region = '' }: Parameters,
  { level }: ParameterContext,
): readonly ParameterViolation[] {
  if (location === '' || region === '' || location === region) return [];
  const isResolved = level === 'resolved';
  if (!isResolved && (isSecretReference(location) || isSecretReference(region))) return [];
  const both = isResolved ? '' : `: ${JSON.stringify(location)} and ${JSON.stringify(region)}`;
  const description = `location and its alias region are different${both}; give one of them`;
  return [{ key: 'location', description }];
}

/** Returns the location in parameters; empty if there is none. */
export function locationOf({ location = '', region = '' }: Parameters): string {
  return location === '' ? region : location;
}

/** Returns the token for a call. @throws DriverError InvalidParameters if the parameters have none */
export function tokenOf({ apiToken = '' }: Parameters): string {
  if (apiToken !== '') return apiToken;
  throw new DriverError(
    'InvalidParameters',
    'parameter apiToken: the class has no token; set apiToken to a secret reference such as secret:<name>.<namespace>.svc/<key>',
  );
}
