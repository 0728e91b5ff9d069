import { expect } from 'chai';
import fc from 'fast-check';
import { limits, StatusError } from '../../base/index.js';
import { parseBody } from './json-body.js';

describe('a JSON body', () => {
  it('is refused with too many values, and accepted with commas in strings', () => {
    const few = limits.requestItemsMax - 2;
    expect(parseBody(`[${'0,'.repeat(few)}0]`)).to.have.length(few + 1);
    expect(() => parseBody(`[${'0,'.repeat(few + 5)}0]`)).to.throw(/values, and at most 65536/);
    expect(() => parseBody(`[${'{},'.repeat(few / 2 + 5)}{}]`)).to.throw(/values, and at most/);
    expect(parseBody(JSON.stringify(','.repeat(500_000)))).to.have.length(500_000);
  });
  it('is refused if it is nested deeply, has a field __proto__, or is invalid', () => {
    for (const text of ['['.repeat(100_000), '{"a":{"__proto__":{}}}', '{"a":', 'NaN'])
      expect(() => parseBody(text)).to.throw(StatusError);
  });

  it('is refused with a name that is __proto__ after its escapes are decoded', () => {
    for (const name of [
      '\\u005f_proto__',
      '__\\u0070roto__',
      '__pr\\u006Fto__',
      '__pro\\u0074o\\u005F_',
    ])
      expect(() => parseBody(`{"a":[{"${name}":{}}]}`), name).to.throw(/named __proto__/);
    expect(parseBody('{"\\u0061":1}')).to.deep.equal({ a: 1 });
  });

  it('causes no error except a StatusError', () => {
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
