import { DriverError, type ParameterRule, type Parameters } from '@kedge/driver-sdk';

/** The driver's parameters (specification section 2.5), without `fsType`, which all block drivers have. */
export const cloud1Parameters: readonly ParameterRule[] = [
  { key: 'region', required: 'class' },
  { key: 'apiToken', sensitive: true },
  // The legacy form of `apiToken`. Its reference is resolved before driver calls, too.
  { key: 'apiTokenSecretRef', credential: true },
];

/** Returns the token for a call. @throws DriverError InvalidParameters if the parameters have none */
export function tokenOf({ apiToken = '', apiTokenSecretRef = '' }: Parameters): string {
  const token = apiToken === '' ? apiTokenSecretRef : apiToken;
  if (token !== '') return token;
  throw new DriverError(
    'InvalidParameters',
    'parameter apiToken: the class has no token; set apiToken to a secret reference such as secret:<name>.<namespace>.svc/<key>',
  );
}
