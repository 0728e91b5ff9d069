import { isIPv4 } from 'node:net';
import { type FieldViolation, invalid, messageOf, StatusError } from 'kedge';

/** The listen settings of kedged. */
export interface ListenSettings {
  readonly grpcAddress: string;
  readonly restAddress: string;
  readonly opsAddress: string;
  readonly allowInsecure: boolean;
  readonly tlsCertFile: string;
  readonly tlsKeyFile: string;
  readonly tlsClientCaFile: string;
}

/** Parses a `host:port`. @throws StatusError InvalidArgument */
export function parseAddress(
  key: string,
  address: string,
): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:\s]+)):(\d{1,5})$/.exec(address);
  const port = Number(match?.[3]);
  if (!match || port > 65_535)
    throw invalid([
      {
        field: key,
        description: `${JSON.stringify(address)} must be host:port, such as 127.0.0.1:7861`,
      },
    ]);
  return { host: match[1] ?? match[2] ?? '', port };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/**
 * Checks that certificate and key are set together, and that listening without encryption on a non-loopback address is
 * allowed.
 * @throws StatusError InvalidArgument naming every setting that must change
 */
export function requireSafeListening(config: ListenSettings): void {
  const addresses = [
    ['server.grpcAddress', config.grpcAddress],
    ['server.restAddress', config.restAddress],
    ['server.opsAddress', config.opsAddress],
  ] as const;
  const violations: FieldViolation[] = [];
  if ((config.tlsCertFile === '') !== (config.tlsKeyFile === ''))
    violations.push({
      field: config.tlsCertFile === '' ? 'server.tls.certFile' : 'server.tls.keyFile',
      description: 'is missing: a certificate and its key must be set together',
    });
  if (config.tlsClientCaFile !== '' && config.tlsCertFile === '')
    violations.push({
      field: 'server.tls.clientCaFile',
      description: 'requires server.tls.certFile and server.tls.keyFile',
    });
  for (const [key, address] of addresses) {
    const { host } = parseAddress(key, address);
    if (isLoopback(host) || config.allowInsecure) continue;
    // Health and metrics are never encrypted.
    if (config.tlsCertFile !== '' && key !== 'server.opsAddress') continue;
    const description =
      key === 'server.opsAddress'
        ? `${address} is reachable from other machines, and health and metrics are never encrypted; use a loopback address, or set server.allowInsecure = true if only trusted machines reach it`
        : `${address} is reachable from other machines without TLS; use a loopback address, set server.tls.certFile and server.tls.keyFile, or set server.allowInsecure = true behind a TLS proxy`;
    violations.push({ field: key, description });
  }
  if (violations.length > 0) throw invalid(violations);
}

const anotherAddress = 'choose an address of this machine';
/** The remedies for system errors of the bind, by code. */
const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE: 'stop the process that uses the address, or choose another one',
  EACCES: 'choose a port of 1024 or more, or run kedged as root',
  EADDRNOTAVAIL: anotherAddress,
  EAFNOSUPPORT: anotherAddress,
  EINVAL: anotherAddress,
  ENOTFOUND: anotherAddress,
  EAI_AGAIN: anotherAddress,
};
/** The system calls that a bind consists of. Errors of others, such as the writes of a start, have no address. */
const bindCalls = ['listen', 'bind', 'getaddrinfo'];

/**
 * Resolves like `listen`. A system error of the bind becomes an error that names the setting and the remedy; other
 * errors are passed on unchanged.
 * @param key the setting or settings with the address
 * @throws StatusError Unavailable (AddressUnavailable)
 */
export async function bound<T>(key: string, address: string, listen: Promise<T>): Promise<T> {
  try {
    return await listen;
  } catch (error) {
    const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
    if (!bindCalls.includes(syscall)) throw error;
    const remedy = remedies[code];
    throw new StatusError({
      code: 'Unavailable',
      reason: 'AddressUnavailable',
      message: `can't listen on ${address} (${key}): ${messageOf(error)}${remedy === undefined ? '' : `; ${remedy}`}`,
      cause: error,
    });
  }
}
