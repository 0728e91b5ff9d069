import { promisify } from 'node:util';
import { gunzip, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { eventually } from '../../testing/index.js';
import { DecompressionPace } from './decompression-pace.js';
import { MessageReader } from './messages.js';

describe('the pace of decompression', () => {
  const one = {};

  it('lets two messages of all calls be decompressed at a time, and none of calls that are over', () => {
    const pace = new DecompressionPace();
    const started: number[] = [];
    const ends: (() => void)[] = [];
    const over = new Set<number>();
    const isOver = (n: number) => () => over.has(n);
    for (let n = 0; n < 6; n += 1)
      pace.begin(one, isOver(n), (done) => {
        started.push(n);
        ends.push(done);
      });
    expect(started).to.deep.equal([0, 1]);
    over.add(2);
    over.add(3);
    ends[1]?.();
    expect(started).to.deep.equal([0, 1, 4]);
    ends[0]?.();
    expect(started).to.deep.equal([0, 1, 4, 5]);
    for (const end of ends.slice(2)) end();
    pace.begin(one, isOver(6), () => started.push(6));
    expect(started).to.deep.equal([0, 1, 4, 5, 6]);
  });

  it('gives connections turns, so that one with many messages does not hold up others', () => {
    const pace = new DecompressionPace();
    const started: string[] = [];
    const ends: (() => void)[] = [];
    const begin = (connection: object, name: string): void =>
      pace.begin(
        connection,
        () => false,
        (done) => {
          started.push(name);
          ends.push(done);
        },
      );
    for (let n = 0; n < 100; n += 1) begin(one, 'many');
    const [second, third] = [{}, {}];
    begin(second, 'second');
    begin(third, 'third');
    begin(second, 'second');
    for (let n = 0; n < 6; n += 1) ends.shift()?.();
    expect(started).to.deep.equal([
      ...['many', 'many'],
      ...['many', 'second', 'third', 'many', 'second', 'many'],
    ]);
  });

  it('applies to the messages of each call: none is decompressed while two others are', async () => {
    const bytes = gzipSync(Buffer.alloc(1_000));
    const pace = new DecompressionPace();
    const holds: (() => void)[] = [];
    for (let n = 0; n < 2; n += 1)
      pace.begin(
        one,
        () => false,
        (done) => holds.push(done),
      );
    const got: number[] = [];
    const readers = [0, 1].map(
      (n) =>
        new MessageReader(
          4_096,
          'gzip',
          {
            message: () => got.push(n),
            end: () => undefined,
            ready: () => undefined,
            fail: () => undefined,
          },
          one,
          pace,
        ),
    );
    for (const reader of readers) reader.read(Buffer.from([1, 0, 0, 0, bytes.length, ...bytes]));
    readers[0]?.stop();
    // As long as the decompression of these messages would take.
    await promisify(gunzip)(bytes);
    await promisify(gunzip)(bytes);
    expect(got).to.deep.equal([]);
    for (const end of holds) end();
    await eventually('the message', () => got.length > 0);
    expect(got).to.deep.equal([1]);
  });
});
