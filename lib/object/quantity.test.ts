import { expect } from 'chai';
import fc from 'fast-check';
import { canonicalQuantity, parseMilliQuantity, parseQuantity, quantityMax } from './quantity.js';

/** Exact fractions: a reference model without floats that shares no code with the parser. */
interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

const powers: Readonly<Record<string, Fraction>> = {
  '': { numerator: 1n, denominator: 1n },
  ...Object.fromEntries(
    ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((suffix, i) => [
      suffix,
      { numerator: 1024n ** BigInt(i + 1), denominator: 1n },
    ]),
  ),
  ...Object.fromEntries(
    ['k', 'M', 'G', 'T', 'P', 'E'].map((suffix, i) => [
      suffix,
      { numerator: 1000n ** BigInt(i + 1), denominator: 1n },
    ]),
  ),
  K: { numerator: 1000n, denominator: 1n },
  m: { numerator: 1n, denominator: 1000n },
  u: { numerator: 1n, denominator: 1000n ** 2n },
  n: { numerator: 1n, denominator: 1000n ** 3n },
};

function modelOf(whole: string, fraction: string, factor: Fraction): bigint {
  const numerator = BigInt(`${whole}${fraction}` || '0') * factor.numerator;
  const denominator = 10n ** BigInt(fraction.length) * factor.denominator;
  return (numerator + denominator - 1n) / denominator;
}

const digits = (max: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: max });

describe('quantities', () => {
  it('are exact, with fractions rounded up to the unit, for every suffix', () => {
    fc.assert(
      fc.property(
        digits(20),
        fc.option(digits(25), { nil: undefined }),
        fc.constantFrom(...Object.keys(powers)),
        (whole, fraction, suffix) => {
          const text = `${whole}${fraction === undefined ? '' : `.${fraction}`}${suffix}`;
          const expected = modelOf(whole, fraction ?? '', powers[suffix] ?? powers['']!);
          expect(parseQuantity(text), text).to.equal(expected > quantityMax ? undefined : expected);
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it('have exponents as powers of ten, including negative ones', () => {
    fc.assert(
      fc.property(
        digits(8),
        fc.integer({ min: -30, max: 25 }),
        fc.constantFrom('e', 'E'),
        fc.boolean(),
        (whole, exponent, letter, plus) => {
          const sign = exponent >= 0 && plus ? '+' : '';
          const power = 10n ** BigInt(Math.abs(exponent));
          const factor =
            exponent >= 0
              ? { numerator: power, denominator: 1n }
              : { numerator: 1n, denominator: power };
          const expected = modelOf(whole, '', factor);
          expect(parseQuantity(`${whole}${letter}${sign}${exponent}`)).to.equal(
            expected > quantityMax ? undefined : expected,
          );
        },
      ),
    );
  });

  it('have a largest amount; larger ones are refused', () => {
    expect(parseQuantity(String(2n ** 63n - 1n))).to.equal(quantityMax);
    expect(parseQuantity(String(2n ** 63n))).to.equal(undefined);
    expect(parseQuantity('8Ei')).to.equal(undefined);
    expect(parseQuantity('7.9999999999999999999999Ei')).to.equal(undefined);
    expect(parseQuantity('1e999')).to.equal(undefined);
  });

  it('of any other form are refused without an exception', () => {
    for (const text of [
      '',
      '.',
      'Gi',
      '1 Gi',
      '1Gii',
      '1ki',
      '0x10',
      '1e',
      '1.2.3',
      '--1',
      '1e9999',
      '١',
    ])
      expect(parseQuantity(text), text).to.equal(undefined);
    fc.assert(fc.property(fc.string(), (text) => void parseQuantity(text)));
  });

  it('have a stable canonical form: the same value with the largest suffix that needs no fraction', () => {
    const known: readonly (readonly [string, string])[] = [
      ['1024Mi', '1Gi'],
      ['1.5Gi', '1536Mi'],
      ['1000k', '1M'],
      ['1K', '1k'],
      ['12e6', '12e6'],
      ['1e5', '100e3'],
      ['100m', '1'],
      ['1025', '1025'],
      ['0Gi', '0'],
      ['0', '0'],
    ];
    for (const [text, canonical] of known)
      expect(canonicalQuantity(text), text).to.equal(canonical);
    fc.assert(
      fc.property(digits(12), fc.constantFrom(...Object.keys(powers)), (whole, suffix) => {
        const text = `${whole}${suffix}`;
        const canonical = canonicalQuantity(text);
        expect(canonical === undefined).to.equal(parseQuantity(text) === undefined);
        if (canonical === undefined) return;
        expect(parseQuantity(canonical), text).to.equal(parseQuantity(text));
        expect(canonicalQuantity(canonical)).to.equal(canonical);
      }),
    );
    expect(canonicalQuantity('x')).to.equal(undefined);
  });

  it('with too many characters are refused', () => {
    expect(parseQuantity('1'.padStart(100, '0'))).to.equal(1n);
    expect(parseQuantity('1'.padStart(101, '0'))).to.equal(undefined);
    expect(parseQuantity('9'.repeat(1_000_000))).to.equal(undefined);
  });

  it('are parsed in thousandths, for processors', () => {
    expect(['500m', '1.5', '2', '1e1', '100u', '1Ki', 'x'].map(parseMilliQuantity)).to.deep.equal([
      500n,
      1_500n,
      2_000n,
      10_000n,
      1n,
      1_024_000n,
      undefined,
    ]);
  });
});
