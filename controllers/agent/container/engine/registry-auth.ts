/** Credentials for a registry. */
export interface RegistryCredentials {
  readonly username: string;
  readonly password: string;
  /** Host of the registry, such as `registry.example.com:5000`. */
  readonly serverAddress: string;
}

/**
 * The header that carries credentials to the engine: JSON in base64url. It contains the plaintext password, so
 * it is created just before it is sent and never logged.
 */
export function registryAuthHeader(
  credentials: RegistryCredentials | undefined,
): Readonly<Record<string, string>> {
  if (!credentials) return {};
  const { username, password, serverAddress } = credentials;
  // The engine's spelling of the field.
  const json = JSON.stringify({ username, password, serveraddress: serverAddress });
  return { 'X-Registry-Auth': Buffer.from(json).toString('base64url') };
}
