import { DriverError, type ParameterRule, type Parameters } from '@kedge/driver-sdk';

/** The parameters of specification section 2.5, in addition to fsType. */
export const cloud1Parameters: readonly ParameterRule[] = [
  { key: 'region', required: 'class' },
  { key: 'apiToken', sensitive: true },
  // The legacy form; its value arrives here resolved, like that of any reference.
  { key: 'apiTokenSecretRef', credential: true },
];

/** The token of a call. @throws DriverError InvalidParameters without one */
export function tokenOf({ apiToken = '', apiTokenSecretRef = '' }: Parameters): string {
  const token = apiToken === '' ? apiTokenSecretRef : apiToken;
  if (token !== '') return token;
  throw new DriverError(
    'InvalidParameters',
    'parameter apiToken: the class has no token; set apiToken to a secret reference such as secret:<name>.<namespace>.svc/<key>',
  );
}
