import { expect } from 'chai';
import { FakeClock } from '../../testing/index.js';
import { UnfinishedCalls } from './unfinished-calls.js';

/** A clock whose deferred callbacks run when the test requests it. */
class Turns extends FakeClock {
  readonly #deferred: (() => void)[] = [];

  override defer(callback: () => void): void {
    this.#deferred.push(callback);
  }

  next(): void {
    for (const callback of this.#deferred.splice(0)) callback();
  }
}

describe('thousands of requests that do not arrive', () => {
  let clock: Turns;
  let calls: UnfinishedCalls;
  let ended: string[];
  beforeEach(() => {
    clock = new Turns();
    calls = new UnfinishedCalls(clock);
    ended = [];
  });
  const begin = (count: number, account = 'ann'): readonly (() => void)[] =>
    Array.from({ length: count }, (_, at) =>
      calls.begin(account, ({ reason }) => ended.push(`${reason} ${account} ${at}`)),
    );

  it('are ended over several turns of the event loop, except 64 of each account', async () => {
    begin(500);
    begin(70, 'bob');
    await clock.advance(2_000);
    expect(ended).to.have.length(32);
    for (let turn = 0; turn < 50; turn += 1) {
      const before = ended.length;
      clock.next();
      expect(ended.length - before).to.be.at.most(32);
    }
    const names = [
      ...Array.from({ length: 500 - 64 }, (_, at) => `TooManyCalls ann ${at + 64}`),
      ...Array.from({ length: 6 }, (_, at) => `TooManyCalls bob ${at + 64}`),
    ];
    expect(ended).to.deep.equal(names);
    ended.length = 0;
    await clock.advance(28_000);
    for (let turn = 0; turn < 10; turn += 1) clock.next();
    expect(new Set(ended.map((text) => text.split(' ')[0]))).to.deep.equal(
      new Set(['RequestTimeout']),
    );
    expect(ended).to.have.length(128);
    expect(clock.pending).to.equal(0);
  });

  it('are not ended if they have arrived meanwhile', async () => {
    const arrived = begin(200);
    await clock.advance(2_000);
    expect(ended).to.have.length(32);
    for (const one of arrived) one();
    for (let turn = 0; turn < 10; turn += 1) clock.next();
    expect(ended).to.have.length(32);
    expect(clock.pending).to.equal(0);
    // Later ones are checked again.
    begin(65, 'eve');
    await clock.advance(3_000);
    expect(ended.slice(32)).to.deep.equal(['TooManyCalls eve 64']);
  });
});
