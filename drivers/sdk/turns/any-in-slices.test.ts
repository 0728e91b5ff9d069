import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { anyInSlices } from './any-in-slices.js';

describe('a test of many items in slices', () => {
  async function tested(count: number, hit: number): Promise<object> {
    let running = 0;
    let atOnce = 0;
    const read: number[] = [];
    const found = await anyInSlices([...Array(count).keys()], 10, async (item) => {
      read.push(item);
      running += 1;
      atOnce = Math.max(atOnce, running);
      await turn();
      running -= 1;
      return item === hit;
    });
    return { found, atOnce, read: read.length };
  }

  it('tests at most one slice concurrently, and all items if none matches', async () => {
    expect(await tested(105, -1)).to.deep.equal({ found: false, atOnce: 10, read: 105 });
  });

  it('ends with the slice of the first match, also the last slice, and without items', async () => {
    expect(await tested(105, 12)).to.deep.equal({ found: true, atOnce: 10, read: 20 });
    expect(await tested(105, 104)).to.deep.equal({ found: true, atOnce: 10, read: 105 });
    expect(await tested(0, 0)).to.deep.equal({ found: false, atOnce: 0, read: 0 });
  });
});
