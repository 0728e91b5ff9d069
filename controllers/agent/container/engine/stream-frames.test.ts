import { expect } from 'chai';
import fc from 'fast-check';
import { frame } from '../../../testing/fake-engine.js';
import { FrameSplitter, type StreamPiece } from './stream-frames.js';

/** Joins the pieces of each frame. */
function joined(pieces: readonly StreamPiece[]): readonly (readonly [string, string])[] {
  const frames: [string, string][] = [];
  let open: Buffer[] = [];
  for (const { stream, data, endsFrame } of pieces) {
    open.push(data);
    if (!endsFrame) continue;
    frames.push([stream, Buffer.concat(open).toString('hex')]);
    open = [];
  }
  return frames;
}

describe('FrameSplitter', () => {
  it('returns the frames that were written, regardless of how the bytes are split', () => {
    const written = fc.record({
      type: fc.constantFrom(1, 2),
      data: fc.uint8Array({ minLength: 1, maxLength: 40 }),
    });
    fc.assert(
      fc.property(
        fc.array(written, { maxLength: 12 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 23 })),
        (frames, sizes) => {
          let rest = Buffer.concat(frames.map(({ type, data }) => frame(type, Buffer.from(data))));
          const splitter = new FrameSplitter();
          const pieces: StreamPiece[] = [];
          for (const size of sizes) {
            if (rest.length === 0) break;
            pieces.push(...splitter.split(rest.subarray(0, size)));
            rest = rest.subarray(size);
          }
          splitter.end();
          expect(joined(pieces)).to.deep.equal(
            frames.map(({ type, data }) => [
              type === 1 ? 'stdout' : 'stderr',
              Buffer.from(data).toString('hex'),
            ]),
          );
        },
      ),
    );
  });

  it('returns payload before its frame is complete', () => {
    const splitter = new FrameSplitter();
    const huge = Buffer.from([1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    expect([...splitter.split(huge)]).to.deep.equal([]);
    const [piece] = [...splitter.split(Buffer.from('some'))];
    expect(piece).to.deep.equal({ stream: 'stdout', data: Buffer.from('some'), endsFrame: false });
  });

  it('refuses bytes that are not frames', () => {
    const splitter = new FrameSplitter();
    expect(() => [...splitter.split(Buffer.from('plain text of a terminal'))]).to.throw(
      'the output stream of a container is not divided into frames',
    );
  });

  it('throws an error of the engine, which has its own stream', () => {
    const splitter = new FrameSplitter();
    const error = frame(3, 'error from daemon in stream: log file is gone\n');
    expect([...splitter.split(error.subarray(0, 20))]).to.deep.equal([]);
    expect(() => [...splitter.split(error.subarray(20))]).to.throw(
      /^error from daemon in stream: log file is gone$/,
    );
  });

  it('a stream that ends inside a frame is broken', () => {
    const splitter = new FrameSplitter();
    void [...splitter.split(frame(1, 'abc').subarray(0, 10))];
    expect(() => splitter.end()).to.throw('ended within a frame');
  });
});
