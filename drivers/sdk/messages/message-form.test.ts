import { expect } from 'chai';
import fc from 'fast-check';
import { messageForm } from './message-form.js';

const seed = Number(process.env['KEDGE_SEED'] ?? 15);
const reached = messageForm('volume {volume} is reachable only from nodes with {{labels[]}}');
const quoted = messageForm('snapshot "{snapshot}" is {status}: {why}');
const packages = messageForm('(package {packages[]} on Debian)');
const ended = messageForm('ended with {code}');
const listed = messageForm('lacks {parts[]}, and no {other[]}; then');

/** Parts with the separators of the forms, and their own texts. */
const part = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom(...'ab/-_=".,:;\'(){}\\ \n') }),
  fc.constantFrom(
    'default/data',
    'is reachable only from nodes with {a}',
    'volume',
    '',
    '/srv/a.b',
  ),
);
/** Texts around a form: sentences without quotes, which do not contain a form. */
const around = fc.array(fc.constantFrom('a', 'b.', 'c;', 'd:', '(e)', '1')).map((w) => w.join(' '));

describe('a message form', () => {
  it('reads the parts that it wrote, regardless of their content, also inside a longer message', () => {
    fc.assert(
      fc.property(around, around, part, part, fc.array(part), (before, after, a, b, list) => {
        const inside = (text: string) => `${before} ${text}; ${after}`;
        const each = [
          [reached, { volume: a, labels: list }],
          [quoted, { snapshot: a, status: b, why: a }],
          [packages, { packages: list }],
          [ended, { code: b }],
          [listed, { parts: list, other: ['and', ...list] }],
        ] as const;
        for (const [form, parts] of each) {
          const text = form.format(parts as never);
          expect(form.read(text)).to.deep.equal(parts);
          expect(form.readAll(inside(`${text}; then ${text}`))).to.deep.equal([parts, parts]);
        }
      }),
      { seed, numRuns: 500 },
    );
  });

  it('writes plain words as they are, and others in quotes', () => {
    expect(
      reached.format({ volume: 'default/v', labels: ['svc.io/region=fra1', 'a=b c'] }),
    ).to.equal('volume default/v is reachable only from nodes with {svc.io/region=fra1, "a=b c"}');
    expect(quoted.format({ snapshot: 'default/s', status: 'Failed', why: 'no "room"' })).to.equal(
      'snapshot "default/s" is Failed: "no \\"room\\""',
    );
    expect(ended.format({ code: 3n })).to.equal('ended with 3');
  });

  it('reads a part up to the punctuation after it, with and without quotes', () => {
    expect(ended.read('it ended with 3.')).to.deep.equal({ code: '3' });
    expect(ended.read('ended with "3", again')).to.deep.equal({ code: '3' });
    expect(ended.read('ended with a.b:c: no')).to.deep.equal({ code: 'a.b:c' });
  });

  it('does not read other words, or a part of one', () => {
    for (const other of ['', 'pended with 3', 'ended  with 3', 'ended with ', 'ended with "3'])
      expect(ended.read(other), other).to.equal(undefined);
    expect(messageForm('is gone').isIn('is goner')).to.equal(false);
    expect(messageForm('is gone').isIn('it is gone: bye')).to.equal(true);
  });

  it('does not read a part in quotes that is not a string of JSON', () => {
    for (const other of ['ended with "\\q"', 'ended with "a\nb"', 'ended with "\\u12"'])
      expect(ended.read(other), other).to.equal(undefined);
    expect(quoted.read('snapshot "a\nb" is gone: 3; snapshot "c" is gone: 4')?.snapshot).to.equal(
      'c',
    );
  });

  it('has the parts of its text: others do not compile', () => {
    expect(ended.format({ code: 1 })).to.equal('ended with 1');
    // @ts-expect-error a part that the text does not have
    ended.format({ code: 1, reason: 'a' });
    // @ts-expect-error a list is no word
    expect(() => packages.format({ packages: 'a' })).to.throw();
    // @ts-expect-error a part that the text does not have
    expect(ended.read('ended with 1')?.reason).to.equal(undefined);
  });

  it('is refused if a part has no end, or occurs twice', () => {
    for (const text of [
      '{a}{b}',
      '{a}/{b}',
      '{a}:{b}',
      '{a}s',
      '{a} and {a}',
      '{a[]}, {b}',
      '{a[]}, b',
    ])
      expect(() => messageForm(text), text).to.throw(TypeError);
  });
});
