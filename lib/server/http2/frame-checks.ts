import { ConnectionError, errorCodes, frameTypes as types } from './frames.js';

/**
 * Checks the stream of a frame.
 * @param incomplete the stream whose headers are incomplete
 * @throws ConnectionError if such a frame must not come there
 */
export function requirePlace(type: number, stream: number, incomplete: number | undefined): void {
  if (incomplete !== undefined && (type !== types.continuation || incomplete !== stream))
    throw new ConnectionError(errorCodes.protocol, 'headers are interrupted');
  // A window belongs to a stream or to the connection.
  if (type > types.continuation || type === types.windowUpdate) return;
  const isOfConnection = type === types.settings || type === types.ping || type === types.goAway;
  if (isOfConnection !== (stream === 0))
    throw new ConnectionError(errorCodes.protocol, 'a frame has an invalid stream');
}

/** @throws ConnectionError if a frame has another length */
export function requireLength(payload: Buffer, length: number): void {
  if (payload.length !== length)
    throw new ConnectionError(errorCodes.frameSize, 'a frame has an invalid length');
}
