/** Types of HTTP/2 frames (RFC 9113, section 6). */
export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Flags of HTTP/2 frames. `ack` and `endStream` are the same bit of different frames. */
export const frameFlags = {
  ack: 0x1,
  endStream: 0x1,
  endHeaders: 0x4,
  padded: 0x8,
  priority: 0x20,
} as const;

/** The flags of headers that fit into one frame. */
export function headerFlags(isEnd: boolean): number {
  return frameFlags.endHeaders | (isEnd ? frameFlags.endStream : 0);
}

/** Error codes of HTTP/2. */
export const errorCodes = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refused: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const;

/** Identifiers of HTTP/2 settings. */
export const settingIds = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** The bytes with which a client begins a connection. */
export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** Bytes before the payload of each frame. */
export const frameHeadBytes = 9;
/** The largest payload that is accepted: the default of the protocol, which is not raised. */
export const frameBytesMax = 16_384;
/** The largest window and stream id. */
export const windowMax = 2 ** 31 - 1;
/** The initial window of a connection and of each stream. */
export const initialWindow = 65_535;

/** An error that ends the connection. */
export class ConnectionError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Writes the head of a frame. */
export function writeHead(
  target: Buffer,
  length: number,
  type: number,
  flags: number,
  stream: number,
): void {
  target.writeUIntBE(length, 0, 3);
  target[3] = type;
  target[4] = flags;
  target.writeUInt32BE(stream, 5);
}

/** A frame with a short payload. */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeadBytes + payload.length);
  writeHead(bytes, payload.length, type, flags, stream);
  bytes.set(payload, frameHeadBytes);
  return bytes;
}

/** A frame whose payload is 32-bit numbers. */
export function numbersFrame(type: number, stream: number, ...numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeadBytes + 4 * numbers.length);
  writeHead(bytes, 4 * numbers.length, type, 0, stream);
  numbers.forEach((number, at) => bytes.writeUInt32BE(number, frameHeadBytes + 4 * at));
  return bytes;
}

/** A SETTINGS frame. */
export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.allocUnsafe(6 * settings.length);
  settings.forEach(([id, value], at) => {
    payload.writeUInt16BE(id, 6 * at);
    payload.writeUInt32BE(value, 6 * at + 2);
  });
  return frame(frameTypes.settings, 0, 0, payload);
}
