import { expect } from 'chai';
import { RestartTurns } from './restart-turns.js';

describe('the turns of restarts', () => {
  const key = (name: string) => ({ namespace: 'default', name });
  const make = () => {
    const woken: string[] = [];
    return { woken, turns: new RestartTurns(({ name }) => woken.push(name)) };
  };

  it('go to two at once, and then to whoever has waited longest', () => {
    const { turns, woken } = make();
    expect(['a', 'b', 'c', 'd'].map((name) => turns.take(key(name)))).to.deep.equal([
      true,
      true,
      false,
      false,
    ]);
    turns.take(key('c'));
    turns.ended(key('b'));
    expect(woken).to.deep.equal(['c']);
    expect(turns.take(key('c')), 'it was woken for it').to.equal(true);
    expect(turns.take(key('e'))).to.equal(false);
    turns.ended(key('a'));
    expect(woken).to.deep.equal(['c', 'd']);
  });

  it('pass on when who was woken does not use its turn', () => {
    const { turns, woken } = make();
    for (const name of ['a', 'b', 'gone', 'c']) turns.take(key(name));
    turns.ended(key('a'));
    turns.ended(key('gone'));
    expect(woken).to.deep.equal(['gone', 'c']);
  });

  it('are free again when nobody waits, and only once', () => {
    const { turns, woken } = make();
    turns.take(key('a'));
    turns.ended(key('a'));
    turns.ended(key('a'));
    turns.ended(key('stranger'));
    expect(['b', 'c', 'd'].map((name) => turns.take(key(name)))).to.deep.equal([true, true, false]);
    expect(woken).to.deep.equal([]);
  });
});
