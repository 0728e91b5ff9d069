import { expect } from 'chai';
import fc from 'fast-check';
import { endOfString } from './json-string.js';

describe('the end of a JSON string', () => {
  it('is its closing quote, regardless of escapes in it', () => {
    const part = fc.constantFrom('"', '\\', '\\"', '\\\\', 'a', '\n', ',');
    fc.assert(
      fc.property(fc.array(part), fc.string(), (parts, after) => {
        const text = JSON.stringify(parts.join(''));
        expect(endOfString(`[${text}${after}`, 1)).to.equal(text.length);
      }),
    );
  });

  it('is the end of the text if the quote is missing or escaped', () => {
    for (const text of ['"', '"a', '"a\\"', '"\\\\\\"'])
      expect(endOfString(text, 0), text).to.equal(text.length);
  });
});
