import type { CredentialCapabilities } from './credential-capabilities.js';

/** The parameters of a driver that are credentials. */
export interface DeclaredCredentials {
  /** Parameters that are credentials or choose those of a call. */
  readonly keys: readonly string[];
  /** See {@link CredentialCapabilities.wholeCredentials}; absent: the driver declares none. */
  readonly whole?: readonly (readonly string[])[] | undefined;
  /** Parameters that name a secret as `<namespace>/<name>`, instead of a reference `secret:<name>/<key>`. */
  readonly secretNames?: Readonly<Record<string, SecretName>> | undefined;
}

/** A parameter whose value is the name of a secret. */
export interface SecretName {
  /** The key of the value in the secret. */
  readonly key: string;
  /** The parameter whose value may be a reference, which is preferred. */
  readonly preferred: string;
}

/** The credentials of the built-in drivers, by their form. A driver declares one of them as its own. */
export const credentialForms = {
  token: { keys: ['apiToken'], whole: [['apiToken']] },
  tokenOrReference: {
    keys: ['apiToken', 'apiTokenSecretRef'],
    whole: [['apiToken'], ['apiTokenSecretRef']],
    secretNames: { apiTokenSecretRef: { key: 'token', preferred: 'apiToken' } },
  },
  accessKey: {
    keys: ['accessKeyId', 'secretAccessKey', 'sessionToken'],
    whole: [['accessKeyId', 'secretAccessKey']],
  },
  serviceAccount: { keys: ['credentialsJSON'], whole: [['credentialsJSON']] },
} as const satisfies Readonly<Record<string, DeclaredCredentials>>;

/**
 * The credentials of drivers that are known before they are loaded, by the driver's name: for code that has no driver. A
 * driver without an entry has none, or what it declares is known only once it is loaded.
 */
export type CredentialsByDriver = ReadonlyMap<string, DeclaredCredentials>;

/** How a parameter names a secret; undefined for a parameter that does not. */
export function secretNameIn(parameter: string): SecretName | undefined {
  const forms = Object.values<DeclaredCredentials>(credentialForms);
  return forms.find(({ secretNames = {} }) => Object.hasOwn(secretNames, parameter))?.secretNames?.[
    parameter
  ];
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
