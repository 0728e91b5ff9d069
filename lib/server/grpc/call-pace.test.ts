import { expect } from 'chai';
import { CallPace } from './call-pace.js';

describe('calls that arrive together', () => {
  let deferred: (() => void)[];
  let begun: string[];
  let pace: CallPace<string>;
  beforeEach(() => {
    deferred = [];
    begun = [];
    pace = new CallPace({ defer: (callback) => void deferred.push(callback) });
    arrive('warm', 512);
    while (deferred.length > 0) turn();
    begun = [];
  });
  const arrive = (connection: string, count: number): void => {
    for (let n = 0; n < count; n += 1)
      pace.begin(connection, () => void begun.push(`${connection}${n}`));
  };
  /** Runs a turn of the event loop and returns the calls that started in it. */
  const turn = (): string[] => {
    begun = [];
    for (const callback of deferred.splice(0)) callback();
    return begun;
  };

  it('start eight per turn while they are the first of a server, whose code is not compiled yet', () => {
    pace = new CallPace({ defer: (callback) => void deferred.push(callback) });
    arrive('a', 600);
    expect(begun).to.have.length(8);
    for (let calls = 8; calls < 512; calls += 8) expect(turn()).to.have.length(8);
    expect(turn()).to.have.length(32);
  });

  it('start at once while they are few', () => {
    arrive('a', 32);
    expect(begun).to.have.length(32);
    expect(turn()).to.deep.equal([]);
    expect(deferred, 'no work is left').to.deep.equal([]);
    arrive('b', 32);
    expect(begun).to.have.length(32);
  });

  it('start in several turns if they are many, in order', () => {
    arrive('a', 100);
    const all = [...begun];
    for (const count of [32, 32, 4]) {
      expect(turn()).to.have.length(count);
      all.push(...begun);
    }
    expect(all).to.deep.equal(Array.from({ length: 100 }, (_, n) => `a${n}`));
    expect(turn()).to.deep.equal([]);
    expect(deferred).to.deep.equal([]);
  });

  it('do not overtake earlier ones of their connection', () => {
    arrive('a', 33);
    turn();
    arrive('a', 1);
    expect(begun).to.deep.equal(['a32', 'a0']);
    arrive('b', 100);
    arrive('a', 1);
    expect(begun.at(-1)).to.equal('b29');
    turn();
    expect(begun.slice(0, 3)).to.deep.equal(['b30', 'a0', 'b31']);
  });

  it('of one connection do not delay those of another', () => {
    arrive('a', 1_024);
    arrive('b', 1);
    turn();
    expect(begun.indexOf('b0')).to.be.within(0, 1);
  });
});
