import { getEventListeners, setMaxListeners } from 'node:events';
import { expect } from 'chai';
import type { Clock, Timer } from '../../base/index.js';
import { WatchWakes } from './watch-wakes.js';

/** A clock whose time passes only by `takes`; deferred callbacks and timers run when a test requests it. */
class WorkClock implements Clock {
  #now = 0;
  readonly deferred: (() => void)[] = [];
  readonly timers: { readonly callback: () => void; readonly delayMs: number }[] = [];
  now = (): number => this.#now;
  monotonic = (): number => this.#now;
  turnAgeMs = (): number => 0;
  defer = (callback: () => void): void => void this.deferred.push(callback);
  setTimer = (callback: () => void, delayMs: number): Timer => {
    const timer = { callback, delayMs };
    this.timers.push(timer);
    return { cancel: () => void this.timers.splice(this.timers.indexOf(timer), 1) };
  };

  takes(ms: number): void {
    this.#now += ms;
  }

  turn(): void {
    for (const callback of this.deferred.splice(0)) callback();
  }

  async due(): Promise<void> {
    for (const { callback } of this.timers.splice(0)) callback();
    await Promise.resolve();
  }
}

describe('waking of watchers', () => {
  let clock: WorkClock;
  let wakes: WatchWakes;
  let revision: number;
  let woken: number;
  let stop: AbortController;

  beforeEach(() => {
    clock = new WorkClock();
    wakes = new WatchWakes(clock, 0);
    revision = 0;
    woken = 0;
    stop = new AbortController();
    setMaxListeners(0, stop.signal);
  });

  /** Watchers of which each takes `ms` for a publication, and waits again. */
  function watchers(count: number, ms: number): void {
    for (let n = 0; n < count; n += 1) {
      const waiter = wakes.join('Lamp', stop.signal);
      void (async () => {
        while (!stop.signal.aborted) {
          await waiter.wait(1_000_000);
          if (stop.signal.aborted) return waiter[Symbol.dispose]();
          woken += 1;
          clock.takes(ms);
        }
      })();
    }
  }
  function publish(...kinds: readonly string[]): void {
    const changes = (kinds.length === 0 ? ['Lamp'] : kinds).map((kind) => ({ kind }));
    wakes.published([{ revision: (revision += 1), changes }]);
  }
  const settled = async (): Promise<void> => {
    for (let n = 0; n < 20; n += 1) await Promise.resolve();
  };

  it('is at once for few of them, publication by publication', async () => {
    watchers(3, 0.02);
    for (let n = 1; n <= 5; n += 1) {
      publish();
      await settled();
      expect(woken).to.equal(3 * n);
    }
    expect(clock.deferred).to.have.lengthOf(0);
  });

  it('is for a publication of the kind that a watcher waits for, and returns the revision up to which nothing changed', async () => {
    for (const isPrompt of [false, true]) {
      const waiter = wakes.join('Lamp', stop.signal, isPrompt);
      const found: number[] = [];
      const began = revision;
      void waiter.wait(1_000_000).then((unchangedTo) => found.push(unchangedTo));
      publish('Room');
      publish();
      publish('Room', 'Wall');
      await settled();
      expect(found, 'the first publication of the kind').to.deep.equal([began + 1]);
      void waiter.wait(1_000_000).then((unchangedTo) => found.push(unchangedTo));
      publish('Wall');
      await settled();
      expect(found, 'a publication of another kind').to.have.lengthOf(1);
      publish('Room', 'Lamp');
      await settled();
      expect(found).to.deep.equal([began + 1, began + 4]);
      waiter[Symbol.dispose]();
    }
  });

  it('returns the last revision at the requested time if nothing of the kind was published', async () => {
    const waiter = wakes.join('Lamp', stop.signal);
    const found: number[] = [];
    void waiter.wait(100).then((unchangedTo) => found.push(unchangedTo));
    for (let n = 0; n < 3; n += 1) publish('Room');
    clock.takes(100);
    await clock.due();
    await settled();
    expect(found).to.deep.equal([3]);
  });

  it('returns the last revision also to a watcher that was woken by a publication before', async () => {
    for (const isPrompt of [false, true]) {
      const waiter = wakes.join('Lamp', stop.signal, isPrompt);
      const found: number[] = [];
      const wait = (): void => void waiter.wait(100).then((to) => found.push(to));
      wait();
      publish();
      await settled();
      wait();
      for (let n = 0; n < 3; n += 1) publish('Room');
      const last = revision;
      waiter[Symbol.dispose]();
      await settled();
      expect(found).to.deep.equal([last - 4, last]);
    }
  });

  it('returns the revision before the first publication of its kind to a watcher whose time comes during the rest', async () => {
    watchers(100, 0.04);
    publish();
    await settled();
    clock.turn();
    const waiter = wakes.join('Lamp', stop.signal);
    const found: number[] = [];
    void waiter.wait(1).then((unchangedTo) => found.push(unchangedTo));
    publish('Room');
    publish();
    publish();
    clock.takes(1);
    await clock.due();
    await settled();
    expect(found).to.deep.equal([2]);
  });

  it('is one pass for many; the next pass covers all publications since, after a rest as long as the first pass', async () => {
    watchers(100, 0.04);
    publish();
    await settled();
    expect(woken, 'the first publication').to.equal(100);
    for (let n = 0; n < 10; n += 1) publish();
    await settled();
    clock.turn();
    expect(woken, 'before the rest is over').to.equal(100);
    const rest = clock.timers.find(({ delayMs }) => delayMs < 100);
    expect(rest?.delayMs).to.be.closeTo(4, 0.001);
    await clock.due();
    await settled();
    expect(woken, 'ten publications in one pass').to.equal(200);
  });

  it('is immediate for a prompt watcher, also while a pass is in progress', async () => {
    watchers(100, 0.04);
    let prompt = 0;
    const waiter = wakes.join('Lamp', stop.signal, true);
    const follow = async (): Promise<void> => {
      for (; !stop.signal.aborted; prompt += 1) await waiter.wait(undefined);
    };
    void follow();
    for (let n = 1; n <= 3; n += 1) {
      publish();
      await settled();
      expect(prompt).to.equal(n);
    }
    expect(woken).to.equal(100);
  });

  it('counts no other work of the turn as its own', async () => {
    watchers(100, 0.001);
    publish();
    await settled();
    clock.takes(500);
    clock.turn();
    const rest = clock.timers.find(({ delayMs }) => delayMs < 100);
    expect(rest?.delayMs).to.equal(5);
  });

  it('is spread over turns of the event loop for thousands', async () => {
    watchers(1_000, 0);
    publish();
    await settled();
    expect(woken).to.equal(256);
    for (let n = 0; n < 4; n += 1) {
      clock.turn();
      await settled();
    }
    expect(woken).to.equal(1_000);
  });

  it('rests a bounded time after a long pass', async () => {
    watchers(2_000, 0.05);
    publish();
    for (let n = 0; n < 8; n += 1) {
      await settled();
      clock.turn();
    }
    expect(woken).to.equal(2_000);
    expect(clock.timers.map(({ delayMs }) => delayMs).filter((ms) => ms < 1_000)).to.deep.equal([
      50,
    ]);
  });

  it('is not before the time of a wait, although the timer of an earlier wait fires first', async () => {
    const waiter = wakes.join('Lamp', stop.signal);
    let count = 0;
    const wait = (untilMs: number | undefined): void =>
      void waiter.wait(untilMs).then(() => (count += 1));
    wait(100);
    publish();
    await settled();
    expect(count).to.equal(1);
    wait(250);
    clock.takes(100);
    await clock.due();
    expect(count, 'at the time of the first wait').to.equal(1);
    expect(clock.timers.map(({ delayMs }) => delayMs)).to.deep.equal([150]);
    clock.takes(150);
    await clock.due();
    await settled();
    expect(count).to.equal(2);
  });

  it('leaves no timer after a wait without a time limit', async () => {
    const waiter = wakes.join('Lamp', stop.signal);
    void waiter.wait(undefined);
    expect(clock.timers).to.have.lengthOf(1);
    publish();
    await settled();
    expect(clock.timers).to.have.lengthOf(0);
  });

  it('is at once for a signal that was aborted before the wait, and a watcher leaves no listener', async () => {
    const waiter = wakes.join('Lamp', stop.signal);
    stop.abort();
    expect(await waiter.wait(1_000_000)).to.equal(0);
    waiter[Symbol.dispose]();
    expect(getEventListeners(stop.signal, 'abort')).to.have.lengthOf(0);
    expect(wakes.size).to.equal(0);
  });

  it('ends with the signal, and leaves no timer', async () => {
    watchers(100, 0);
    expect(clock.timers).to.have.lengthOf(100);
    stop.abort();
    await settled();
    expect(wakes.size).to.equal(0);
    expect(clock.timers).to.have.lengthOf(0);
  });
});
