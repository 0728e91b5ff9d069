/** Credentials for a registry: a user with a password, or a token. */
export type RegistryCredentials = {
  /** Host of the registry, such as `registry.example.com:5000`. */
  readonly serverAddress: string;
} & (
  | { readonly username: string; readonly password: string }
  /** A bearer token, which the registry accepts as it is. */
  | { readonly registryToken: string }
  /** A refresh token, with which the engine asks the registry's token service. */
  | { readonly identityToken: string }
);

/** Converts credentials to the field names of the engine. */
function engineFields(credentials: RegistryCredentials): Readonly<Record<string, string>> {
  if ('registryToken' in credentials) return { registrytoken: credentials.registryToken };
  if ('identityToken' in credentials) return { identitytoken: credentials.identityToken };
  return { username: credentials.username, password: credentials.password };
}

/**
 * The header that carries credentials to the engine: JSON in base64url with padding; no header without credentials. It
 * contains the plaintext password, so it is created just before it is sent and never logged.
 */
export function registryAuthHeader(
  credentials: RegistryCredentials | undefined,
): Readonly<Record<string, string>> {
  if (!credentials) return {};
  const fields = { ...engineFields(credentials), serveraddress: credentials.serverAddress };
  return { 'X-Registry-Auth': paddedBase64Url(JSON.stringify(fields)) };
}

/** The engine ignores credentials without padding, and pulls without them. */
function paddedBase64Url(text: string): string {
  return Buffer.from(text).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}
