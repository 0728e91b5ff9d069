import { expect } from 'chai';
import { eventually } from '../../testing/index.js';
import { FrameReader } from './frame-reader.js';
import { frame, frameBytesMax, preface } from './frames.js';

/** Used bytes of the heap and of buffers, after a collection of garbage. */
function usedBytes(): number {
  if (!globalThis.gc) throw new Error('needs --expose-gc');
  globalThis.gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

describe('the bytes of an incomplete frame', () => {
  it('are copied: the buffer of a read may be overwritten, and is not retained', () => {
    const payloads: string[] = [];
    const reader = new FrameReader((_type, _flags, _stream, payload) =>
      payloads.push(payload.toString()),
    );
    reader.read(preface);
    const bytes = frame(0, 0, 1, Buffer.from('some text'));
    for (const [from, to] of [
      [0, 5],
      [5, 12],
      [12, 18],
    ]) {
      const read = Buffer.from(bytes.subarray(from, to));
      reader.read(read);
      read.fill(0xff);
    }
    expect(payloads).to.deep.equal(['some text']);
  });

  it('take little more than their length in memory, also if they arrive one by one', async () => {
    const bytes = frame(0, 0, 1, Buffer.alloc(frameBytesMax, 7));
    const lengths: number[] = [];
    // So many readers that garbage of other tests hardly counts.
    const readers = Array.from({ length: 100 }, () => {
      const reader = new FrameReader((_type, _flags, _stream, payload) =>
        lengths.push(payload.length),
      );
      reader.read(preface);
      return reader;
    });
    const before = usedBytes();
    for (const reader of readers)
      for (let at = 0; at < bytes.length - 1; at += 1) reader.read(bytes.subarray(at, at + 1));
    // Collected buffers are freed by another thread, which may take a while.
    await eventually(
      'little memory to be taken',
      () => (usedBytes() - before) / readers.length < 4 * frameBytesMax,
    );
    for (const reader of readers) reader.read(bytes.subarray(-1));
    expect(lengths).to.deep.equal(readers.map(() => frameBytesMax));
  });
});
