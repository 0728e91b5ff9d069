import {
  ConnectionError,
  errorCodes,
  frameTypes as types,
  settingIds,
  windowMax,
} from './frames.js';

/**
 * Checks the stream of a frame.
 * @param incomplete the stream whose headers are incomplete
 * @throws ConnectionError if the protocol does not permit the frame on this stream, or it interrupts headers
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

/** Checks the length of a payload. @throws ConnectionError if it has another length */
export function requireLength(payload: Buffer, length: number): void {
  if (payload.length !== length)
    throw new ConnectionError(errorCodes.frameSize, 'a frame has an invalid length');
}

/** Maximum settings of one frame. */
const settingsMax = 32;

/** Settings of a client that change what is sent to it. */
export interface ClientSettings {
  readonly headerTableSize?: number;
  readonly initialWindowSize?: number;
}

/**
 * Reads a SETTINGS frame.
 * @throws ConnectionError for values that the protocol forbids
 */
export function clientSettings(payload: Buffer): ClientSettings {
  if (payload.length % 6 !== 0)
    throw new ConnectionError(errorCodes.frameSize, 'a SETTINGS frame has an invalid length');
  if (payload.length / 6 > settingsMax)
    throw new ConnectionError(errorCodes.enhanceYourCalm, 'too many settings');
  let settings: ClientSettings = {};
  for (let at = 0; at < payload.length; at += 6) {
    const id = payload.readUInt16BE(at);
    const value = payload.readUInt32BE(at + 2);
    if (id === settingIds.headerTableSize) settings = { ...settings, headerTableSize: value };
    if (id === settingIds.initialWindowSize) {
      if (value > windowMax)
        throw new ConnectionError(errorCodes.flowControl, 'the initial window is too large');
      settings = { ...settings, initialWindowSize: value };
    }
    if (id === settingIds.enablePush && value > 1)
      throw new ConnectionError(errorCodes.protocol, 'ENABLE_PUSH is neither 0 nor 1');
    if (id === settingIds.maxFrameSize && (value < 2 ** 14 || value >= 2 ** 24))
      throw new ConnectionError(errorCodes.protocol, 'MAX_FRAME_SIZE is out of its range');
  }
  return settings;
}
