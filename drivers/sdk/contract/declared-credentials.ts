import type { CredentialCapabilities } from './credential-capabilities.js';

/** The parameters of a driver that are credentials. */
export interface DeclaredCredentials {
  /** Parameters that are credentials or choose those of a call. */
  readonly keys: readonly string[];
  /** See {@link CredentialCapabilities.wholeCredentials}; absent: the driver declares none. */
  readonly whole?: readonly (readonly string[])[] | undefined;
}

/**
 * The credentials of the built-in drivers that have some. Explanations and rights read them here, because they have no
 * driver; the drivers declare the same.
 */
export const builtinCredentials = {
  'cloud1-volume': {
    keys: ['apiToken', 'apiTokenSecretRef'],
    whole: [['apiToken'], ['apiTokenSecretRef']],
  },
  'cloud2-volume': { keys: ['apiToken'], whole: [['apiToken']] },
  'cloud3-block': {
    keys: ['accessKeyId', 'secretAccessKey', 'sessionToken'],
    whole: [['accessKeyId', 'secretAccessKey']],
  },
  'cloud4-disk': { keys: ['credentialsJSON'], whole: [['credentialsJSON']] },
} as const satisfies Readonly<Record<string, DeclaredCredentials>>;

/** The credentials of a driver by its name; undefined for a driver that is not built in, or has no credentials. */
export function declaredCredentials(driver: string): DeclaredCredentials | undefined {
  const all: Readonly<Record<string, DeclaredCredentials>> = builtinCredentials;
  return Object.hasOwn(all, driver) ? all[driver] : undefined;
}

/** The credentials that a driver declares by its capabilities. */
export function credentialsIn({
  sensitiveParameters,
  credentialParameters = [],
  wholeCredentials,
}: CredentialCapabilities): DeclaredCredentials {
  return {
    keys: [...new Set([...sensitiveParameters, ...credentialParameters])],
    whole: wholeCredentials,
  };
}
