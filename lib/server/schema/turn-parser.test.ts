import { expect } from 'chai';
import fc from 'fast-check';
import { parseBody, parseBodyInTurns } from './json-body.js';

const filler = 'x'.repeat(5_000);

/** The result of a parser: a value, or a refusal. */
async function outcome(parse: () => unknown): Promise<unknown> {
  try {
    return { value: await parse() };
  } catch {
    return 'refused';
  }
}

/** Parses in turns; returns the value and the number of turns. */
async function inTurns(text: string): Promise<{ readonly value: unknown; readonly turns: number }> {
  let turns = 0;
  const value = await parseBodyInTurns(text, () => {
    turns += 1;
    return Promise.resolve();
  });
  return { value, turns };
}

/** Values with many parts that are longer than the part that is parsed in one turn. */
const values = fc.letrec<{ readonly value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(null, true, 0, -1.5, '', 'a"],{', '\\', filler, filler),
    fc.array(tie('value'), { maxLength: 12 }),
    fc.dictionary(fc.constantFrom('a', 'b"}', '7', '', filler), tie('value'), { maxKeys: 5 }),
  ),
})).value;

describe('a long JSON text', () => {
  it('is parsed in many turns, to the same value as in one', async () => {
    const labels = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`l${n}`, `v${n}`]));
    const text = JSON.stringify({ name: 'm', nested: { labels }, list: [labels, 1, [labels]] });
    const { value, turns } = await inTurns(text);
    expect(value).to.deep.equal(JSON.parse(text));
    expect(turns).to.be.at.least(50);
  });

  it('is the same value for any shape, white space and order', async function () {
    this.timeout(180_000);
    await fc.assert(
      fc.asyncProperty(values, fc.constantFrom(undefined, 1, '\t'), async (value, space) => {
        const text = `\n ${JSON.stringify([value, filler, filler, { value, filler }], null, space)} `;
        expect((await inTurns(text)).value).to.deep.equal(JSON.parse(text));
      }),
      { numRuns: 100 },
    );
  });

  it('is refused exactly like a short one, with one character inserted, removed or changed', async function () {
    this.timeout(180_000);
    const long = JSON.stringify({ a: [filler, filler, filler, filler], b: 1, c: { d: [] } });
    const sample = `{"first":[${long},${long}],"second":${long},"third":[1,2,{}],"e":{}}`;
    const structural = [...sample].flatMap((char, at) => (char === 'x' ? [] : [at]));
    const place = fc.constantFrom(...structural);
    const piece = fc.constantFrom('', ',', ',,', '{', '}', '[', ']', '"', ':', ' ', '1', 'null,');
    await fc.assert(
      fc.asyncProperty(place, piece, fc.boolean(), async (at, text, replaces) => {
        const changed = sample.slice(0, at) + text + sample.slice(replaces ? at + 1 : at);
        const whole = await outcome(() => parseBody(changed));
        expect(await outcome(async () => (await inTurns(changed)).value)).to.deep.equal(whole);
      }),
      { numRuns: 400 },
    );
  });

  it('is scanned in turns before it is parsed, and a long string in it is parsed in a turn of its own', async () => {
    const turnsOf = async (text: string): Promise<number> => {
      const { value, turns } = await inTurns(text);
      expect(value).to.deep.equal(JSON.parse(text));
      return turns;
    };
    expect(await turnsOf(`{"a":1${' '.repeat(1_000_000)}}`)).to.be.within(16, 20);
    expect(await turnsOf(JSON.stringify({ a: '"'.repeat(1_000_000) }))).to.be.within(2, 4);
  });

  it('keeps the last of several fields of one name', async () => {
    const long = JSON.stringify(Array.from({ length: 9_000 }, (_, n) => n));
    for (const text of [`{"a":${long},"a":1}`, `{"a":1,"a":${long}}`, `{"a":${long},"b":2,"a":[]}`])
      expect((await inTurns(text)).value).to.deep.equal(JSON.parse(text));
  });

  it('is refused with a field __proto__, with a long or a short value', async () => {
    const long = JSON.stringify(Array.from({ length: 9_000 }, (_, n) => n));
    for (const name of ['__proto__', '__pr\\u006Fto__'])
      for (const text of [`{"${name}":${long}}`, `[${long},{"${name}":{}}]`]) {
        const refusal = await inTurns(text).catch((error: unknown) => String(error));
        expect(refusal).to.match(/named __proto__/);
      }
  });
});
