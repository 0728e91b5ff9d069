import { type Logger, statusCodes } from '../../base/index.js';
import { encodeStatus, headerSized, type MethodInfo } from '../../rpc/index.js';
import { publicError } from '../schema/error-body.js';

/** A status as it is sent. */
export interface SentStatus {
  readonly code: number;
  readonly message: string;
  /** The details of the error, encoded. */
  readonly details?: Uint8Array;
}

/** Converts a thrown value to the status that ends a call of a method. */
export type StatusOf = (method: Pick<MethodInfo, 'id'>, thrown: unknown) => SentStatus;

/** Returns a converter to statuses. It logs failures of the server. */
export function statusWith(logger: Logger): StatusOf {
  return (method, thrown) => {
    const error = headerSized(publicError(thrown));
    if (error.code === 'Internal')
      logger.error('request failed', { method: method.id, error: thrown });
    return {
      code: statusCodes[error.code],
      message: error.message,
      details: encodeStatus(error),
    };
  };
}
