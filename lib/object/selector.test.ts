import { expect } from 'chai';
import fc from 'fast-check';
import { limits, StatusError } from '../base/index.js';
import { parseFieldSelector, parseLabelSelector } from './selector.js';

/** The grammar as regular expressions: short, and slow on long input, so it is the model only. */
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
  it('take what their grammar allows, and nothing else', () => {
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

  it('compare a value with spaces in a field selector, and an operator in a value as it is', () => {
    const object = { name: 'a b', metadata: {} } as never;
    expect(parseFieldSelector('name = a b')(object)).to.equal(true);
    expect(parseFieldSelector('name!=a b')(object)).to.equal(false);
    expect(parseFieldSelector('name==a=b')({ name: 'a=b' } as never)).to.equal(true);
  });

  it('that are too long are refused with their bound', () => {
    const { selectorCharactersMax, selectorRequirementsMax } = limits;
    for (const [parse, field] of [
      [parseLabelSelector, 'labelSelector'],
      [parseFieldSelector, 'fieldSelector'],
    ] as const) {
      const long = `a=${'x'.repeat(selectorCharactersMax)}`;
      expect(() => parse(long)).to.throw(`${field}: has ${long.length} characters`);
      const many = Array.from({ length: selectorRequirementsMax + 1 }, () => 'a=b').join(',');
      expect(() => parse(many)).to.throw(
        `${field}: has ${selectorRequirementsMax + 1} requirements`,
      );
      const most = Array.from({ length: selectorRequirementsMax }, () => 'a=b').join(',');
      expect(() => parse(most)).not.to.throw();
    }
  });

  it('are not quoted whole by errors', () => {
    expect(() => parseLabelSelector(`a ${'x'.repeat(60_000)}`))
      .to.throw(StatusError)
      .with.property('message')
      .with.property('length')
      .below(500);
  });
});
