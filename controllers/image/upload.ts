import { Readable } from 'node:stream';
import { type Clock, invalid, sleep, StatusError } from 'kedge';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';

/** Maximum bytes of one message. */
const pieceBytesMax = 1_048_576;

/** Bounds of an upload. */
export interface UploadBounds {
  /** Maximum bytes of all messages. */
  readonly tarBytesMax: number;
  /** Maximum time without a message while more data is wanted. */
  readonly idleMs: number;
}

const defaultBounds: UploadBounds = { tarBytesMax: 64 * 1024 ** 3, idleMs: 120_000 };

/** A tar archive received in messages. */
export interface Upload {
  readonly tar: Readable;
  readonly receivedBytes: () => number;
  /** The error with which the caller ended the upload early; undefined if the caller did not. */
  readonly failure: () => StatusError | undefined;
}

/**
 * Reads a tar archive from messages, with backpressure.
 * @param onPiece called with each piece
 */
export function uploadOf(
  messages: AsyncIterable<JsonObject>,
  clock: Clock,
  onPiece: () => void,
  { tarBytesMax, idleMs }: UploadBounds = defaultBounds,
): Upload {
  let receivedBytes = 0;
  let failure: StatusError | undefined;
  const refuse = (error: StatusError): StatusError => (failure = error);
  async function* pieces(): AsyncIterable<Buffer> {
    const iterator = messages[Symbol.asyncIterator]();
    for (;;) {
      const next = await withinIdle(iterator.next(), clock, idleMs);
      if (next === 'idle')
        throw refuse(
          new StatusError({
            code: 'DeadlineExceeded',
            reason: 'RequestTimeout',
            message: `no data of the tar archive arrived for ${idleMs / 1_000} s; load it again`,
          }),
        );
      if (next.done === true) return;
      const message: unknown = next.value;
      if (!isJsonObject(message) || 'start' in message)
        throw refuse(
          invalid([{ field: 'start', description: 'is permitted only as the first message' }]),
        );
      const piece = Buffer.from(textOf(message, 'data'), 'base64');
      if (piece.length > pieceBytesMax)
        throw refuse(
          invalid([
            {
              field: 'data',
              description: `is ${piece.length} bytes; a message has at most ${pieceBytesMax}`,
            },
          ]),
        );
      receivedBytes += piece.length;
      if (receivedBytes > tarBytesMax)
        throw refuse(
          invalid([{ field: 'data', description: `is more than ${tarBytesMax} bytes in total` }]),
        );
      onPiece();
      if (piece.length > 0) yield piece;
    }
  }
  return {
    tar: Readable.from(pieces(), { objectMode: false }),
    receivedBytes: () => receivedBytes,
    failure: () => failure,
  };
}

async function withinIdle<T>(work: Promise<T>, clock: Clock, idleMs: number): Promise<T | 'idle'> {
  const over = new AbortController();
  try {
    const idle = sleep(clock, idleMs, over.signal).then(() => 'idle' as const);
    return await Promise.race([work, idle]);
  } finally {
    over.abort();
    work.catch(() => undefined);
  }
}
