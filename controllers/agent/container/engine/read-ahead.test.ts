import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { ReadAhead } from './read-ahead.js';

interface Piece {
  readonly n: number;
  readonly data: Uint8Array;
}

describe('a stream that is read ahead', () => {
  const data = new Uint8Array(800);
  const bytesOf = (piece: Piece): number => piece.data.length;
  let taken: number;
  let isClosed: boolean;

  /** Pieces that count as 1,000 bytes each; then the error, if any. */
  async function* source(count: number, error?: Error): AsyncGenerator<Piece> {
    taken = 0;
    isClosed = false;
    try {
      for (let n = 0; n < count; n += 1) {
        taken += 1;
        yield await Promise.resolve({ n, data });
      }
      if (error) throw error;
    } finally {
      isClosed = true;
    }
  }

  it('does not wait for its reader, and is closed at its maximum', async () => {
    const ahead = new ReadAhead(source(20), 5_000, bytesOf);
    const numbers: number[] = [];
    for await (const { n } of ahead) {
      if (numbers.length === 0) await eventually('the stream to be closed', () => isClosed);
      numbers.push(n);
    }
    expect(taken).to.equal(5);
    expect(numbers).to.deep.equal([0, 1, 2, 3, 4]);
    expect(ahead.isCut).to.equal(true);
  });

  it('ends with its source, or with the error of it after all pieces', async () => {
    const whole = new ReadAhead(source(3), 5_000, bytesOf);
    const numbers: number[] = [];
    for await (const { n } of whole) numbers.push(n);
    expect(whole.isCut).to.equal(false);
    const failing = new ReadAhead(source(3, new Error('cut')), 5_000, bytesOf);
    let failure: unknown;
    try {
      for await (const { n } of failing) numbers.push(n);
    } catch (error) {
      failure = error;
    }
    expect(numbers).to.deep.equal([0, 1, 2, 0, 1, 2]);
    expect(String(failure)).to.contain('cut');
  });
});
