/** Credentials for a registry. */
export interface RegistryCredentials {
  readonly username: string;
  readonly password: string;
  /** Host of the registry, such as `registry.example.com:5000`. */
  readonly serverAddress: string;
}

/**
 * The header that carries credentials to the engine: JSON in base64url. It is the password in the
 * clear, so it is made where it is sent and never logged.
 */
export function registryAuthHeader(
  credentials: RegistryCredentials | undefined,
): Readonly<Record<string, string>> {
  if (!credentials) return {};
  const { username, password, serverAddress } = credentials;
  // In the engine's spelling.
  const json = JSON.stringify({ username, password, serveraddress: serverAddress });
  return { 'X-Registry-Auth': Buffer.from(json).toString('base64url') };
}
