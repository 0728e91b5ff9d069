import { expect } from 'chai';
import { type Clock, systemClock, type Timer, type TimerOptions } from './clock.js';
import { TimeSlice } from './time-slice.js';

/** A clock on which every look at a turn's age is a millisecond of work, and what is deferred runs when told. */
class TurnClock implements Clock {
  #age = 0;
  readonly #deferred: (() => void)[] = [];
  now = (): number => 0;
  monotonic = (): number => 0;
  setTimer = (callback: () => void, delayMs: number, options?: TimerOptions): Timer =>
    systemClock.setTimer(callback, delayMs, options);
  turnAgeMs = (): number => (this.#age += 1);
  defer = (callback: () => void): void => void this.#deferred.push(callback);

  /** One turn of the event loop: what is deferred meanwhile belongs to the next one. */
  async turn(): Promise<void> {
    this.#age = 0;
    for (const callback of this.#deferred.splice(0)) {
      callback();
      for (let settled = 0; settled < 20; settled += 1) await Promise.resolve();
    }
  }
}

describe('time slices', () => {
  /** Works without end, a slice after the other; `log` says whose slices they were. */
  const work = async (clock: Clock, name: string, log: string[]): Promise<never> => {
    const slice = new TimeSlice(clock, { everyStep: true });
    for (;;) {
      await slice.pause();
      log.push(name);
      while (!slice.due());
    }
  };

  it('come in turns: work that uses up every turn starves no other', async () => {
    const clock = new TurnClock();
    const log: string[] = [];
    for (const name of ['a', 'b', 'c']) void work(clock, name, log);
    for (let turn = 0; turn < 6; turn += 1) await clock.turn();
    expect(log.join('')).to.equal('abcabc');
  });

  it('are several in one turn as long as it is not used up', async () => {
    const clock = new TurnClock();
    const woken: string[] = [];
    for (const name of ['a', 'b']) void new TimeSlice(clock).pause().then(() => woken.push(name));
    await clock.turn();
    expect(woken).to.deep.equal(['a', 'b']);
  });
});
