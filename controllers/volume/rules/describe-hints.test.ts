import { expect } from 'chai';
import { volumeHints } from './describe-hints.js';

describe('hints of a volume', () => {
  const facts = { hasClass: true, waitsFor: undefined, keptBecause: undefined };

  it('report the blocker of its deletion', () => {
    expect(volumeHints(facts)).to.eql([]);
    expect(volumeHints({ ...facts, waitsFor: 'why' })).to.eql(['why']);
  });

  it('report that its class does not exist', () => {
    expect(volumeHints({ ...facts, hasClass: false }).join()).to.contain(
      'its class does not exist any more',
    );
  });
});
