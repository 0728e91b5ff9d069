import { expect } from 'chai';
import { type Clock, systemClock, type Timer, type TimerOptions } from './clock.js';
import { TimeSlice } from './time-slice.js';

/** A clock on which each query of the turn's age counts as a millisecond of work. Deferred callbacks run in `turn`. */
class TurnClock implements Clock {
  #age = 0;
  readonly #deferred: (() => void)[] = [];
  now = (): number => 0;
  monotonic = (): number => 0;
  setTimer = (callback: () => void, delayMs: number, options?: TimerOptions): Timer =>
    systemClock.setTimer(callback, delayMs, options);
  turnAgeMs = (): number => (this.#age += 1);
  defer = (callback: () => void): void => void this.#deferred.push(callback);

  /** Runs one turn of the event loop: callbacks deferred meanwhile belong to the next one. */
  async turn(): Promise<void> {
    this.#age = 0;
    for (const callback of this.#deferred.splice(0)) {
      callback();
      for (let settled = 0; settled < 20; settled += 1) await Promise.resolve();
    }
  }
}

describe('time slices', () => {
  /** Works without end, slice after slice; `log` records the name for each slice. */
  const work = async (clock: Clock, name: string, log: string[]): Promise<never> => {
    const slice = new TimeSlice(clock, { everyStep: true });
    for (;;) {
      await slice.pause();
      log.push(name);
      while (!slice.due());
    }
  };

  it('alternate: work that uses up each turn does not starve other work', async () => {
    const clock = new TurnClock();
    const log: string[] = [];
    for (const name of ['a', 'b', 'c']) void work(clock, name, log);
    for (let turn = 0; turn < 6; turn += 1) await clock.turn();
    expect(log.join('')).to.equal('abcabc');
  });

  it('share one turn until it is used up', async () => {
    const clock = new TurnClock();
    const resumed: string[] = [];
    for (const name of ['a', 'b']) void new TimeSlice(clock).pause().then(() => resumed.push(name));
    await clock.turn();
    expect(resumed).to.deep.equal(['a', 'b']);
  });
});
