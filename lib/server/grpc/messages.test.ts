import { deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { seededRandom, statusCodes } from '../../base/index.js';
import { eventually } from '../../testing/index.js';
import type { SentStatus } from './errors.js';
import { DecompressionPace } from './decompression-pace.js';
import { type MessageEvents, MessageReader } from './messages.js';

const bytesMax = 1_000;

function framed(message: Buffer, compressed = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = compressed;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

class Recorder {
  readonly messages: string[] = [];
  failure: SentStatus | undefined;
  ended = false;
  readonly reader: MessageReader;

  constructor(encoding = 'identity') {
    const events: MessageEvents = {
      message: (bytes) => void this.messages.push(bytes.toString()),
      end: () => (this.ended = true),
      ready: () => undefined,
      fail: (status) => (this.failure = status),
    };
    this.reader = new MessageReader(bytesMax, encoding, events, this);
  }

  get over(): boolean {
    return this.ended || this.failure !== undefined;
  }
}

describe('the messages of a call', () => {
  const texts = ['', 'a', 'b'.repeat(bytesMax), 'c', ''];
  const all = Buffer.concat(texts.map((text) => framed(Buffer.from(text))));

  it('are read from data that is split anywhere', () => {
    const random = seededRandom(5);
    for (let round = 0; round < 200; round += 1) {
      const { reader, messages, ...rest } = new Recorder();
      for (let at = 0; at < all.length; ) {
        const end = at + 1 + Math.floor(random.next() * (round + 1));
        reader.read(all.subarray(at, end));
        at = end;
      }
      reader.end();
      expect(messages).to.deep.equal(texts);
      expect(rest.failure).to.equal(undefined);
    }
  });

  for (const [encoding, compress] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ] as const)
    it(`keep their order if some are compressed with ${encoding}`, async () => {
      const recorder = new Recorder(encoding);
      texts.forEach((text, at) =>
        recorder.reader.read(
          at % 2 === 0 ? framed(Buffer.from(text)) : framed(compress(Buffer.from(text)), 1),
        ),
      );
      recorder.reader.end();
      await eventually('the end', () => recorder.over);
      expect(recorder.messages).to.deep.equal(texts);
    });

  const failing: Readonly<
    Record<string, readonly [code: number, encoding: string, bytes: Buffer]>
  > = {
    'a message beyond the limit': [
      statusCodes.ResourceExhausted,
      'identity',
      framed(Buffer.alloc(bytesMax + 1)),
    ],
    'a length beyond the limit, before its bytes': [
      statusCodes.ResourceExhausted,
      'identity',
      Buffer.from([0, 0xff, 0xff, 0xff, 0xff]),
    ],
    'a message that decompresses beyond the limit': [
      statusCodes.ResourceExhausted,
      'gzip',
      framed(gzipSync(Buffer.alloc(1_000_000)).subarray(0, bytesMax), 1),
    ],
    'a message that is not compressed although its flag is set': [
      statusCodes.Internal,
      'gzip',
      framed(Buffer.from('text'), 1),
    ],
    'an unknown encoding': [statusCodes.Unimplemented, 'snappy', framed(Buffer.from('text'), 1)],
    'a compressed message without an encoding': [
      statusCodes.Unimplemented,
      'identity',
      framed(Buffer.from('text'), 1),
    ],
    'an unknown flag': [statusCodes.Internal, 'identity', framed(Buffer.from('text'), 2)],
    'a message that is cut': [
      statusCodes.Internal,
      'identity',
      framed(Buffer.from('text')).subarray(0, 7),
    ],
    'a head that is cut': [statusCodes.Internal, 'identity', Buffer.alloc(3)],
  };
  for (const [what, [code, encoding, bytes]] of Object.entries(failing))
    it(`end with an error for ${what}`, async () => {
      const recorder = new Recorder(encoding);
      recorder.reader.read(framed(Buffer.from('before')));
      recorder.reader.read(bytes);
      recorder.reader.end();
      await eventually('the end', () => recorder.over);
      recorder.reader.read(framed(Buffer.from('behind')));
      expect(recorder.failure?.code).to.equal(code);
      expect(recorder.messages).to.deep.equal(['before']);
      expect(recorder.ended).to.equal(false);
    });

  it('that wait for a decompression are freed when the call is over, and none of them is delivered', async () => {
    const buffered = (): number => {
      if (!globalThis.gc) throw new Error('needs --expose-gc');
      globalThis.gc();
      return process.memoryUsage().arrayBuffers;
    };
    // Messages of two other calls are being decompressed, so those of this one wait.
    const pace = new DecompressionPace();
    for (let n = 0; n < 2; n += 1)
      pace.begin(
        {},
        () => false,
        () => undefined,
      );
    const received: string[] = [];
    const note = (what: string) => () => void received.push(what);
    const events = {
      message: note('message'),
      end: note('end'),
      ready: note('ready'),
      fail: note('fail'),
    };
    const reader = new MessageReader(1_000_000, 'gzip', events, {}, pace);
    reader.read(framed(gzipSync('text'), 1));
    // Backing stores are freed after the collection, also those of earlier tests.
    let before = buffered();
    await eventually('the buffers of other tests to be freed', () => {
      const last = before;
      before = buffered();
      return Math.abs(last - before) < 100_000;
    });
    for (let n = 0; n < 50; n += 1) reader.read(framed(Buffer.alloc(1_000_000)));
    reader.end();
    expect(buffered() - before).to.be.above(40_000_000);
    reader.stop();
    await eventually('free memory', () => buffered() - before < 5_000_000);
    expect(received).to.deep.equal([]);
  });
});
