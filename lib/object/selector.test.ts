import { expect } from 'chai';
import fc from 'fast-check';
import { limits, StatusError } from '../base/index.js';
import { parseFieldSelector, parseLabelSelector } from './selector.js';

/** The grammar as regular expressions. They are slow on long input, so they serve as a model only. */
const model = {
  requirement: (text: string): boolean =>
    /^[^\s!=,()]+\s+(in|notin)\s*\([^()]*\)$/.test(text) ||
    /^[^\s!=,()]+\s*(==|=|!=)\s*[^\s!=,()]*$/.test(text) ||
    /^!?\s*[^\s!=,()]+$/.test(text),
  field: (text: string): boolean => /^[^\s!=,()]+\s*(==|=|!=)\s*[^,()]*$/.test(text),
  parts: (text: string): readonly string[] => text.split(/,(?![^(]*\))/).map((part) => part.trim()),
};

const unit = fc.constantFrom(
  'a',
  'b',
  ' ',
  '\t',
  '=',
  '!',
  ',',
  '(',
  ')',
  ' in ',
  ' notin ',
  '\uFEFF',
);
const text = fc.string({ unit, maxLength: 14 }).filter((t) => t.trim() !== '');

function reads(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch (error) {
    expect(error).to.be.instanceOf(StatusError);
    return false;
  }
}

describe('selectors', () => {
  it('accept what their grammar allows, and nothing else', () => {
    fc.assert(
      fc.property(text, (t) => {
        const parts = model.parts(t);
        expect(
          reads(() => parseLabelSelector(t)),
          t,
        ).to.equal(parts.every(model.requirement));
        expect(
          reads(() => parseFieldSelector(t)),
          t,
        ).to.equal(parts.every(model.field));
      }),
      { numRuns: 5_000 },
    );
  });

  it('compare a value with spaces in a field selector, and an operator in a value literally', () => {
    const object = { name: 'a b', metadata: {} } as never;
    expect(parseFieldSelector('name = a b')(object)).to.equal(true);
    expect(parseFieldSelector('name!=a b')(object)).to.equal(false);
    expect(parseFieldSelector('name==a=b')({ name: 'a=b' } as never)).to.equal(true);
  });

  it('compare values other than strings by their JSON', () => {
    const inner = fc.oneof(fc.string({ maxLength: 3 }), fc.integer(), fc.constant(null));
    const value = fc.oneof(
      fc.boolean(),
      fc.integer(),
      fc.array(fc.array(inner, { maxLength: 2 }), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b'), fc.oneof(inner, fc.constant(undefined))),
    );
    fc.assert(
      fc.property(value, (given) => {
        const text = JSON.stringify(given);
        fc.pre(!/[,()]/.test(text) && text === text.trim());
        const object = { name: 'x', metadata: {}, given } as never;
        expect(parseFieldSelector(`given=${text}`)(object), text).to.equal(true);
        expect(parseFieldSelector(`given!=${text}`)(object), text).to.equal(false);
        expect(parseFieldSelector(`given=${text}x`)(object), text).to.equal(false);
      }),
    );
  });

  it('compute the text of a value once, and none for a map that no requirement can name', () => {
    let made = 0;
    const counting = { toJSON: () => (made += 1) };
    const hundred = Array.from({ length: 100 }, (_, i) => `data!=${i + 1_000}`).join(',');
    const matches = (data: object): boolean =>
      parseFieldSelector(hundred)({ name: 'x', metadata: {}, data } as never);
    expect([
      matches({ a: counting, b: counting }),
      matches({ a: [counting, counting] }),
      made,
    ]).to.deep.equal([true, true, 0]);
    // A requirement can equal the JSON of an object with one entry, so the text is needed.
    expect([matches(counting), made]).to.deep.equal([true, 1]);
  });

  it('match a missing label by notin, != and !key, and by nothing else', () => {
    const matches = (selector: string) => parseLabelSelector(selector)({ b: 'x' });
    for (const selector of ['a notin (x)', 'a!=x', '!a', 'b', 'b in (x,y)', 'b=x'])
      expect(matches(selector), selector).to.equal(true);
    for (const selector of ['a', 'a in (x)', 'a=x', 'a=', '!b', 'b notin (x,y)', 'b!=x'])
      expect(matches(selector), selector).to.equal(false);
  });

  it('with too many characters or requirements are refused', () => {
    const { selectorCharactersMax, selectorRequirementsMax } = limits;
    for (const [parse, field] of [
      [parseLabelSelector, 'labelSelector'],
      [parseFieldSelector, 'fieldSelector'],
    ] as const) {
      const long = `a=${'x'.repeat(selectorCharactersMax)}`;
      expect(() => parse(long)).to.throw(`${field}: has ${long.length} characters`);
      expect(() => parse(long.slice(0, selectorCharactersMax))).not.to.throw();
      const many = Array.from({ length: selectorRequirementsMax + 1 }, () => 'a=b').join(',');
      expect(() => parse(many)).to.throw(
        `${field}: has ${selectorRequirementsMax + 1} requirements`,
      );
      const most = Array.from({ length: selectorRequirementsMax }, () => 'a=b').join(',');
      expect(() => parse(most)).not.to.throw();
    }
  });

  it('are truncated in errors', () => {
    expect(() => parseLabelSelector(`a ${'x'.repeat(60_000)}`))
      .to.throw(StatusError)
      .with.property('message')
      .with.property('length')
      .below(500);
  });
});
