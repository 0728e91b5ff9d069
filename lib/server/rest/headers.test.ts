import { expect } from 'chai';
import { acceptsGzip, isKnown } from './headers.js';

describe('headers', () => {
  it('entity tags are compared weakly for reads, gzip is used unless it is refused', () => {
    expect([isKnown('W/"1"', '"1"'), isKnown('*', '"1"'), isKnown('"2"', '"1"')]).to.deep.equal([
      true,
      true,
      false,
    ]);
    const takes = ['gzip', '*', 'br, gzip;q=0.5', 'gzip;q=0', 'br', undefined].map(acceptsGzip);
    expect(takes).to.deep.equal([true, true, true, false, false, false]);
  });
});
