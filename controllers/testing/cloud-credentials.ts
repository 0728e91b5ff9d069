import { credentialForms, type CredentialsByDriver } from '@kedge/driver-sdk/parameters';

/** The credentials of the cloud drivers, as those of the daemon declare them. */
export const cloudCredentials: CredentialsByDriver = new Map(
  Object.entries({
    'cloud1-volume': credentialForms.tokenOrReference,
    'cloud2-volume': credentialForms.token,
    'cloud3-block': credentialForms.accessKey,
    'cloud4-disk': credentialForms.serviceAccount,
  }),
);
