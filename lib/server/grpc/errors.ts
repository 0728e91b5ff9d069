import { Metadata } from '@grpc/grpc-js';
import { type Logger, statusCodes } from '../../base/index.js';
import { encodeStatus, headerSized, type MethodInfo, statusDetailsKey } from '../../rpc/index.js';
import { publicError } from '../schema/error-body.js';

/** A status in the form of grpc-js. */
export interface SentStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

/** Converts a thrown value to the status that ends a call of a method. */
export type StatusOf = (method: Pick<MethodInfo, 'id'>, thrown: unknown) => SentStatus;

/** Returns a converter to statuses. It logs failures of the server. */
export function statusWith(logger: Logger): StatusOf {
  return (method, thrown) => {
    const error = headerSized(publicError(thrown));
    if (error.code === 'Internal')
      logger.error('request failed', { method: method.id, error: thrown });
    const metadata = new Metadata();
    metadata.set(statusDetailsKey, Buffer.from(encodeStatus(error)));
    return { code: statusCodes[error.code], details: error.message, metadata };
  };
}
