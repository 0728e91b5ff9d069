import { expect } from 'chai';
import { volumeHints } from './hints.js';

describe('hints of a volume', () => {
  const facts = { hasClass: true, waitsFor: undefined, keptBecause: undefined };

  it('tell what its deletion waits for', () => {
    expect(volumeHints(facts)).to.eql([]);
    expect(volumeHints({ ...facts, waitsFor: 'why' })).to.eql(['why']);
  });

  it('tell that its class is gone', () => {
    expect(volumeHints({ ...facts, hasClass: false }).join()).to.contain(
      'its class does not exist any more',
    );
  });
});
