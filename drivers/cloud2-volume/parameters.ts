import {
  DriverError,
  type ParameterRule,
  type Parameters,
  type ParameterViolation,
} from '@kedge/driver-sdk';

/** The parameters of specification section 2.5, in addition to fsType. */
export const cloud2Parameters: readonly ParameterRule[] = [
  { key: 'location', aliases: ['region'], required: true },
  { key: 'apiToken', sensitive: true },
];

/** The location and its alias are one value. */
export function locationViolations({
  location = '',
  region = '',
}: Parameters): readonly ParameterViolation[] {
  if (location === '' || region === '' || location === region) return [];
  const description = `location and its alias region are different: ${JSON.stringify(location)} and ${JSON.stringify(region)}; give one of them`;
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
