import { expect } from 'chai';
import fc from 'fast-check';
import {
  findCondition,
  jsonEqual,
  keyString,
  namespaceOf,
  parseKey,
  parseLabelSelector,
  parseQuantity,
  setCondition,
} from '../index.js';

describe('namespaceOf', () => {
  it('returns the namespace of an object or key, and refuses those without one', () => {
    expect(namespaceOf({ namespace: 'default', name: 'a' })).to.equal('default');
    expect(() => namespaceOf({ name: 'a' })).to.throw(TypeError, '"a" has no namespace');
    expect(() => namespaceOf({ namespace: '', name: 'a' })).to.throw(TypeError);
  });
});

describe('quantity', () => {
  const table: readonly [string, bigint | undefined][] = [
    ['1', 1n],
    ['10Gi', 10n * 2n ** 30n],
    ['1.5Gi', 3n * 2n ** 29n],
    ['5G', 5_000_000_000n],
    ['5k', 5_000n],
    ['5K', 5_000n],
    ['1e3', 1_000n],
    ['1E', 10n ** 18n],
    ['100m', 1n],
    ['1.1', 2n],
    ['0', 0n],
    ['10Gx', undefined],
    ['', undefined],
    ['Gi', undefined],
    ['1 Gi', undefined],
    ['0x10', undefined],
    ['9Ei', undefined],
    ['9223372036854775807', 2n ** 63n - 1n],
    ['9223372036854775808', undefined],
  ];
  for (const [text, value] of table)
    it(`reads ${JSON.stringify(text)} as ${String(value)}`, () => {
      expect(parseQuantity(text)).to.equal(value);
    });

  it('is exact for whole numbers with binary suffixes up to Ti', () => {
    const suffixes = ['Ki', 'Mi', 'Gi', 'Ti'] as const;
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.integer({ min: 0, max: 3 }), (n, at) => {
        const expected = BigInt(n) << BigInt(10 * (at + 1));
        expect(parseQuantity(`${n}${suffixes[at]}`)).to.equal(expected);
      }),
    );
  });
});

describe('label selector', () => {
  const labels = { app: 'db', tier: 'back' };
  const table: readonly [string, boolean][] = [
    ['', true],
    ['app=db', true],
    ['app==db,tier!=front', true],
    ['app=web', false],
    ['app in (web, db)', true],
    ['app notin (web)', true],
    ['missing notin (web)', true],
    ['missing!=x', true],
    ['tier', true],
    ['!tier', false],
    ['!missing', true],
  ];
  for (const [text, matches] of table)
    it(`${JSON.stringify(text)} ${matches ? 'matches' : 'does not match'}`, () => {
      expect(parseLabelSelector(text)(labels)).to.equal(matches);
    });

  it('names the part that it cannot parse', () => {
    expect(() => parseLabelSelector('a=b,c d')).to.throw('c d');
  });
});

describe('conditions', () => {
  it('change their time only with the status, and stay the same list without a change', () => {
    const base = { type: 'Ready', status: 'False', reason: 'Wait', message: 'm' } as const;
    const first = setCondition([], base, 't1');
    expect(setCondition(first, base, 't2')).to.equal(first);
    const updated = setCondition(first, { ...base, message: 'other' }, 't2');
    expect(findCondition(updated, 'Ready')?.lastTransitionAt).to.equal('t1');
    const ready = setCondition(updated, { ...base, status: 'True' }, 't3');
    expect(findCondition(ready, 'Ready')?.lastTransitionAt).to.equal('t3');
  });
});

describe('keys', () => {
  it('are parsed back from their text unchanged', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,10}$/);
    fc.assert(
      fc.property(fc.option(name, { nil: undefined }), name, (namespace, n) => {
        const key = namespace === undefined ? { name: n } : { namespace, name: n };
        expect(parseKey(keyString(key))).to.deep.equal(key);
      }),
    );
  });
});

describe('jsonEqual', () => {
  it('treats an undefined field as absent, and compares lists in order', () => {
    expect(jsonEqual({ a: undefined, b: [1, 2] }, { b: [1, 2] })).to.equal(true);
    expect(jsonEqual([1, 2], [2, 1])).to.equal(false);
    expect(jsonEqual({ a: {} }, { a: [] })).to.equal(false);
  });
});
