import type { ServiceError } from '@grpc/grpc-js';
import { statusCodes, type StatusError } from '../../base/index.js';
import { decodeStatus, statusDetailsKey } from '../../rpc/index.js';

/** The error of a call as the server sent it, or as the connection failed. */
export function callError(error: ServiceError): StatusError {
  const details = error.metadata?.get(statusDetailsKey)[0];
  const bytes = Buffer.isBuffer(details) ? details : undefined;
  // A server error has details: without them the connection broke.
  if (!bytes && Number(error.code) === statusCodes.Internal)
    return decodeStatus(statusCodes.Unavailable, error.details || error.message, undefined);
  return decodeStatus(error.code, error.details || error.message, bytes);
}
