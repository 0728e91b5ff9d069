import { expect } from 'chai';
import fc from 'fast-check';
import { GradualLimit, rateHeaders, SlidingWindows } from './rate-limit.js';

const hour = { max: 5_000, windowMs: 3_600_000, saysRetryAfter: false };
const minute = { max: 250, windowMs: 60_000, saysRetryAfter: true };

describe('the rate limits of an emulated provider', () => {
  it('let 250 requests a minute pass, and then name the seconds until one more passes', () => {
    const limit = new SlidingWindows([hour, minute]);
    for (let n = 0; n < 250; n += 1) expect(limit.take('a', n).allowed).to.equal(true);
    const refused = limit.take('a', 30_000);
    expect(refused).to.include({ allowed: false, retryAfter: 30 });
    expect(limit.take('a', 59_999).allowed).to.equal(false);
    expect(limit.take('a', 60_000).allowed).to.equal(true);
    // The request after the oldest one expires a millisecond later.
    expect(limit.take('a', 60_000).allowed).to.equal(false);
    expect(limit.take('a', 60_001).allowed).to.equal(true);
  });

  it('count each token apart', () => {
    const limit = new SlidingWindows([{ ...minute, max: 1 }]);
    expect(limit.take('a', 0).allowed).to.equal(true);
    expect(limit.take('b', 0).allowed).to.equal(true);
    expect(limit.take('a', 0).allowed).to.equal(false);
  });

  it('of an hour report only when the oldest request expires', () => {
    const limit = new SlidingWindows([{ ...hour, max: 2 }, minute]);
    limit.take('a', 1_000);
    limit.take('a', 2_000);
    const refused = limit.take('a', 3_000);
    expect(refused).to.deep.equal({ allowed: false, limit: 2, remaining: 0, resetAt: 3_601 });
    expect(rateHeaders(refused)).to.deep.equal({
      'ratelimit-limit': '2',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '3601',
    });
  });

  it('never let more than their number pass within a window', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40), { maxLength: 60 }), (gaps) => {
        const limit = new SlidingWindows([{ max: 3, windowMs: 100, saysRetryAfter: true }]);
        let now = 0;
        const passed: number[] = [];
        for (const gap of gaps) {
          now += gap;
          if (limit.take('a', now).allowed) passed.push(now);
        }
        for (const at of passed)
          expect(passed.filter((other) => other > at - 100 && other <= at).length).to.be.at.most(3);
      }),
    );
  });

  it('that recover gradually give one request back a second, and report when all are back', () => {
    const limit = new GradualLimit(3, 1);
    for (const remaining of [2, 1, 0])
      expect(limit.take('p', 0)).to.include({ allowed: true, remaining });
    expect(limit.take('p', 0)).to.deep.equal({
      ...{ allowed: false, limit: 3, remaining: 0 },
      resetAt: 3,
    });
    expect(limit.take('p', 999).allowed).to.equal(false);
    // `remaining` is rounded down.
    expect(new GradualLimit(3, 0.5).take('p', 0)).to.include({ remaining: 2 });
    const half = new GradualLimit(3, 0.5);
    half.take('p', 0);
    half.take('p', 0);
    expect(half.take('p', 1_000)).to.include({ allowed: true, remaining: 0 });
    expect(limit.take('p', 1_000).allowed).to.equal(true);
    expect(limit.take('p', 1_000).allowed).to.equal(false);
    expect(limit.take('p', 100_000)).to.include({ allowed: true, remaining: 2 });
  });
});
