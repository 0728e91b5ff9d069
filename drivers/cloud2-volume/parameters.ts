import {
  DriverError,
  isSecretReference,
  type ParameterContext,
  type ParameterRule,
  type Parameters,
  type ParameterViolation,
} from '@kedge/driver-sdk';

/** The parameters of specification section 2.5, in addition to fsType. */
export const cloud2Parameters: readonly ParameterRule[] = [
  { key: 'location', aliases: ['region'], required: 'class' },
  { key: 'apiToken', sensitive: true },
];

/** The location and its alias are one value. A reference is compared when it is resolved, and is not quoted then. */
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

/** The location of a class; empty without one. */
export function locationOf({ location = '', region = '' }: Parameters): string {
  return location === '' ? region : location;
}

/** The token of a call. @throws DriverError InvalidParameters without one */
export function tokenOf({ apiToken = '' }: Parameters): string {
  if (apiToken !== '') return apiToken;
  throw new DriverError(
    'InvalidParameters',
    'parameter apiToken: the class has no token; set apiToken to a secret reference such as secret:<name>.<namespace>.svc/<key>',
  );
}
