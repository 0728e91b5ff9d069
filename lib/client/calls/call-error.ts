import type { ServiceError } from '@grpc/grpc-js';
import { statusCodes, type StatusError } from '../../base/index.js';
import { decodeStatus, statusDetailsKey } from '../../rpc/index.js';

/** Converts the error of a call: the server's status with its details, or the failure of the connection. */
export function callError(error: ServiceError): StatusError {
  const details = error.metadata?.get(statusDetailsKey)[0];
  const bytes = Buffer.isBuffer(details) ? details : undefined;
  // A server sends details with its errors. An Internal error without details is a failure of the connection.
  if (!bytes && Number(error.code) === statusCodes.Internal)
    return decodeStatus(statusCodes.Unavailable, error.details || error.message, undefined);
  return decodeStatus(error.code, error.details || error.message, bytes);
}
