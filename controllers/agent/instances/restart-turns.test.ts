import { expect } from 'chai';
import { RestartTurns } from './restart-turns.js';

describe('the turns of restarts', () => {
  const key = (name: string) => ({ namespace: 'default', name });
  const make = () => {
    const woken: string[] = [];
    return { woken, turns: new RestartTurns(({ name }) => woken.push(name)) };
  };

  it('are given to two keys at a time, and to keys that crashed equally often in the order of requests', () => {
    const { turns, woken } = make();
    expect(['a', 'b', 'c', 'd'].map((name) => turns.take(key(name), 1))).to.deep.equal([
      true,
      true,
      false,
      false,
    ]);
    turns.take(key('c'), 1);
    turns.ended(key('b'));
    expect(woken).to.deep.equal(['c']);
    expect(turns.take(key('c'), 1), 'it was woken for it').to.equal(true);
    expect(turns.take(key('e'), 1)).to.equal(false);
    turns.ended(key('a'));
    expect(woken).to.deep.equal(['c', 'd']);
  });

  it('include a first restart among the next two, regardless of how many crash loops wait', () => {
    for (const passed of [0, 1]) {
      const { turns, woken } = make();
      for (let n = 0; n < 300; n += 1) turns.take(key(`loop-${n}`), 6);
      for (let n = 0; n < passed; n += 1) turns.ended(key(`loop-${n}`));
      turns.take(key('first'), 1);
      const before = woken.length;
      for (let n = 0; n < 2; n += 1) turns.ended(key(woken.at(-1) ?? 'loop-0'));
      expect(woken.slice(before), `after ${passed}`).to.include('first');
    }
  });

  it('are given to a crash loop too while keys that crashed less often are waiting', () => {
    const { turns, woken } = make();
    for (const name of ['a', 'b', 'loop']) turns.take(key(name), 6);
    for (let n = 0; n < 5; n += 1) turns.take(key(`new-${n}`), 1);
    turns.ended(key('a'));
    turns.ended(key('b'));
    expect(woken).to.deep.equal(['new-0', 'loop']);
  });

  it('pass to the next key if a queued key does not use its turn', () => {
    const { turns, woken } = make();
    for (const name of ['a', 'b', 'gone', 'c']) turns.take(key(name), 1);
    turns.ended(key('a'));
    turns.ended(key('gone'));
    expect(woken).to.deep.equal(['gone', 'c']);
  });

  it('are released if no key waits, and only once', () => {
    const { turns, woken } = make();
    turns.take(key('a'), 1);
    turns.ended(key('a'));
    turns.ended(key('a'));
    turns.ended(key('stranger'));
    expect(['b', 'c', 'd'].map((name) => turns.take(key(name), 1))).to.deep.equal([
      true,
      true,
      false,
    ]);
    expect(woken).to.deep.equal([]);
  });
});
