import { expect } from 'chai';
import { defaultPolicy } from '../../policy/policy.js';
import { crashPriority, restartPriority } from './restart.js';

describe('the place of a restart in the queue', () => {
  const ended = (ranMs: number) =>
    ({
      state: 'exited',
      run: 1,
      exitCode: 1,
      startedAt: 0,
      exitedAt: ranMs,
      requested: false,
    }) as const;
  const place = (crashes: number, ranMs = 0) =>
    restartPriority(defaultPolicy, ended(ranMs), crashes);

  it('is the lower the more often it crashed, and below those that have a turn', () => {
    expect(place(1)).to.be.lessThan(crashPriority);
    expect(place(2)).to.be.lessThan(place(1));
    expect(place(6)).to.be.lessThan(place(5));
    expect(place(10_000), 'bounded').to.equal(place(1_000));
  });

  it('is the usual one after a run that was long enough', () => {
    expect(place(3, defaultPolicy.restartHealthyMs)).to.equal(0);
  });
});
