import { gunzip, inflate, type InputType, type ZlibOptions } from 'node:zlib';
import { statusCodes } from '../../base/index.js';
import { GrowingBytes } from '../http2/growing-bytes.js';
import { DecompressionPace } from './decompression-pace.js';
import type { SentStatus } from './errors.js';

/** Bytes before each message: whether it is compressed, and its length. */
export const headBytes = 5;

type Decompress = (
  bytes: InputType,
  options: ZlibOptions,
  callback: (error: NodeJS.ErrnoException | null, result: Buffer) => void,
) => void;

const decompressors: ReadonlyMap<string, Decompress> = new Map([
  ['gzip', gunzip],
  ['deflate', inflate],
]);

const sharedPace = new DecompressionPace();

/** The accepted encodings of messages, as the value of a header. */
export const acceptedEncodings = ['identity', ...decompressors.keys()].join(',');

/** Receives the messages of a call. */
export interface MessageEvents {
  message(bytes: Buffer): void;
  /** All messages were received. */
  end(): void;
  /** The reader is no longer busy. */
  ready(): void;
  /** A message can't be received; no further message or end follows. */
  fail(status: SentStatus): void;
}

/** Reads the messages of one call out of its data, and decompresses them. Their order is kept. */
export class MessageReader {
  readonly #bytesMax: number;
  readonly #encoding: string;
  readonly #events: MessageEvents;
  readonly #connection: object;
  readonly #pace: DecompressionPace;
  /** The received bytes of an incomplete head. */
  readonly #head = new GrowingBytes();
  readonly #body = new GrowingBytes();
  /** Missing bytes of a message whose head was read; undefined between messages. */
  #missing: number | undefined;
  #isCompressed = false;
  /** Events that wait for the decompression of an earlier message; undefined if none does. */
  #waiting: (() => void)[] | undefined;
  #isDecompressing = false;
  /** Whether earlier messages wait for their handler: a small one may become four megabytes. */
  #isPaused = false;
  #failed = false;

  /**
   * @param connection of the call, for its turns
   * @param pace of all readers of the process by default
   */
  constructor(
    bytesMax: number,
    encoding: string,
    events: MessageEvents,
    connection: object,
    pace = sharedPace,
  ) {
    this.#connection = connection;
    this.#pace = pace;
    this.#bytesMax = bytesMax;
    this.#encoding = encoding;
    this.#events = events;
  }

  /** Whether it decompresses a message: what is read meanwhile stays in memory. */
  get isBusy(): boolean {
    return this.#waiting !== undefined;
  }

  /** Decompresses nothing while it is set. */
  set paused(isPaused: boolean) {
    this.#isPaused = isPaused;
    if (!isPaused && this.#waiting && !this.#isDecompressing) this.#proceed();
  }

  /** Drops waiting messages, because the call is over. No further event follows. */
  stop(): void {
    this.#failed = true;
    this.#waiting &&= [];
  }

  read(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && !this.#failed) {
      if (this.#missing === undefined) {
        const end = Math.min(bytes.length, at + headBytes - this.#head.length);
        const part = bytes.subarray(at, end);
        at = end;
        if (part.length === headBytes) this.#begin(part);
        else {
          this.#head.append(part);
          if (this.#head.length === headBytes) this.#begin(this.#head.take());
        }
      } else {
        const end = Math.min(bytes.length, at + this.#missing);
        this.#body.append(bytes.subarray(at, end), this.#body.length + this.#missing);
        this.#missing -= end - at;
        at = end;
      }
      if (this.#missing === 0) this.#complete();
    }
  }

  /** Ends the data; an incomplete message fails the call. */
  end(): void {
    const isWhole = this.#missing === undefined && this.#head.length === 0;
    this.#inOrder(() => {
      if (isWhole) this.#events.end();
      else this.#fail('Internal', 'The request ended within a message');
    });
  }

  #begin(head: Buffer): void {
    const length = head.readUInt32BE(1);
    const flag = head[0] ?? 0;
    this.#isCompressed = flag === 1;
    if (flag > 1) this.#fail('Internal', `Received message with the unknown flag ${flag}`);
    else if (length > this.#bytesMax)
      this.#fail(
        'ResourceExhausted',
        `Received message larger than max (${length} vs ${this.#bytesMax})`,
      );
    else this.#missing = length;
  }

  #complete(): void {
    const bytes = this.#body.take();
    this.#missing = undefined;
    if (this.#isCompressed) this.#inOrder(() => this.#decompress(bytes));
    else this.#inOrder(() => this.#events.message(bytes));
  }

  #decompress(bytes: Buffer): void {
    const decompress = decompressors.get(this.#encoding);
    if (!decompress) {
      const text = `Received message compressed with unsupported encoding "${this.#encoding}"`;
      return this.#fail('Unimplemented', text);
    }
    this.#waiting = [];
    if (this.#isPaused) {
      this.#waiting.push(() => this.#decompress(bytes));
      return;
    }
    this.#isDecompressing = true;
    const isOver = (): boolean => this.#failed;
    this.#pace.begin(this.#connection, isOver, (done) => {
      decompress(bytes, { maxOutputLength: this.#bytesMax }, (error, message) => {
        done();
        this.#decompressed(error, message);
      });
    });
  }

  #decompressed(error: NodeJS.ErrnoException | null, message: Buffer): void {
    this.#isDecompressing = false;
    if (error?.code === 'ERR_BUFFER_TOO_LARGE')
      this.#fail(
        'ResourceExhausted',
        `Received message that decompresses to a size larger than ${this.#bytesMax}`,
      );
    else if (error) this.#fail('Internal', 'Failed to decompress message');
    else if (!this.#failed) this.#events.message(message);
    this.#proceed();
  }

  /** Continues with what waited. */
  #proceed(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const event of waiting) this.#inOrder(event);
    if (!this.isBusy) this.#events.ready();
  }

  #inOrder(event: () => void): void {
    if (this.#failed) return;
    if (this.#waiting) this.#waiting.push(event);
    else event();
  }

  #fail(code: 'Internal' | 'ResourceExhausted' | 'Unimplemented', message: string): void {
    this.#failed = true;
    this.#events.fail({ code: statusCodes[code], message });
  }
}
