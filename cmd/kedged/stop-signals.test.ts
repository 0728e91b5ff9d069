import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { sameRequestMs, stopSignals } from './stop-signals.js';

describe('signals that stop the daemon', () => {
  it('start one graceful stop per Ctrl-C, and exit immediately after a later signal', async () => {
    const clock = new FakeClock();
    const calls: string[] = [];
    const signal = stopSignals({
      clock,
      stop: () => calls.push('stop'),
      end: () => calls.push('end'),
    });
    signal();
    signal();
    await clock.advance(sameRequestMs - 1);
    signal();
    expect(calls).to.deep.equal(['stop']);
    await clock.advance(1);
    signal();
    expect(calls).to.deep.equal(['stop', 'end']);
  });
});
