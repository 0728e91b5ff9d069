import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import type { ClientTls } from './client-options.js';

/** The credentials of a connection; without certificates it is plaintext. */
export function channelCredentials(tls: ClientTls | undefined): ChannelCredentials {
  if (!tls) return credentials.createInsecure();
  return credentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null);
}
