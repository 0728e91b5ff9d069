import { expect } from 'chai';
import { RecentCache, roughBytes } from './recent-cache.js';

describe('recent results', () => {
  it('the cache of recent results keeps the last ones and computes each once', () => {
    const cache = new RecentCache<object, number>(2);
    const keys = [{}, {}, {}];
    let made = 0;
    const of = (n: number) => cache.of(keys[n]!, () => (made += 1));
    expect([of(0), of(1), of(0), of(2), of(0)]).to.deep.equal([1, 2, 1, 3, 4]);
    // If the total weight of two results is too large, the older one is evicted.
    made = 0;
    const heavy = new RecentCache<object, number>(9, { of: () => 6, max: 10 });
    const kept = (n: number) => heavy.of(keys[n]!, () => (made += 1));
    expect([kept(0), kept(0), kept(1), kept(1), kept(0)]).to.deep.equal([1, 1, 2, 2, 3]);
  });

  it('the cache of recent results keeps none above its weight, and loses no other for it', () => {
    const cache = new RecentCache<{ size: number }, string>(9, {
      of: (text, { size }) => text.length + size,
      max: 10,
    });
    let made = 0;
    const of = (key: { size: number }) =>
      cache.of(key, () => {
        made += 1;
        return 'text';
      });
    const small = { size: 1 };
    const large = { size: 7 };
    for (const key of [small, large, small, large, small]) of(key);
    expect(made).to.equal(3);
  });

  it('are weighed with the names of their fields, at every depth', () => {
    const name = 'n'.repeat(1_000);
    const value = 'v'.repeat(1_000);
    for (const [text, least] of [
      [{ [name]: 1 }, 1_000],
      [{ a: [{ [name]: { [name]: value } }] }, 3_000],
      [[value, [value]], 2_000],
    ] as const)
      expect(roughBytes(text)).to.be.within(least, least + 200);
    expect([1, true, null, undefined].map(roughBytes)).to.deep.equal([16, 16, 16, 16]);
  });
});
