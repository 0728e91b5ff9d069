import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import type { ClientTls } from './client-options.js';

const known = new WeakMap<ClientTls, ChannelCredentials>();

/**
 * The credentials of a connection; without certificates it is plaintext. The same certificates have the same
 * credentials: the clients of a server with the same credentials share a connection.
 */
export function channelCredentials(tls: ClientTls | undefined): ChannelCredentials {
  if (!tls) return credentials.createInsecure();
  const made =
    known.get(tls) ?? credentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null);
  known.set(tls, made);
  return made;
}
