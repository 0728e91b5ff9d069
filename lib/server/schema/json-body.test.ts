import { expect } from 'chai';
import fc from 'fast-check';
import { limits, StatusError } from '../../base/index.js';
import { parseBody } from './json-body.js';

describe('a JSON body', () => {
  it('refuses a JSON body of more values than a request may have, and takes text with commas', () => {
    const few = limits.requestItemsMax - 2;
    expect(parseBody(`[${'0,'.repeat(few)}0]`)).to.have.length(few + 1);
    expect(() => parseBody(`[${'0,'.repeat(few + 5)}0]`)).to.throw(/values, at most 131072/);
    expect(() => parseBody(`[${'{},'.repeat(few / 2 + 5)}{}]`)).to.throw(/values, at most/);
    expect(parseBody(JSON.stringify(','.repeat(500_000)))).to.have.length(500_000);
  });
  it('refuses deep nesting, __proto__ and what is not JSON', () => {
    for (const text of ['['.repeat(100_000), '{"a":{"__proto__":{}}}', '{"a":', 'NaN'])
      expect(() => parseBody(text)).to.throw(StatusError);
  });

  it('never throws anything but a StatusError', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          parseBody(text);
        } catch (error) {
          expect(error).to.be.instanceOf(StatusError);
        }
      }),
    );
  });
});
