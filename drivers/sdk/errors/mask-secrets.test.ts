import { expect } from 'chai';
import { redacted } from '../http/redact.js';
import { unquoted } from './unquoted.js';

type Encode = (text: string) => string;

const hex = (value: number, length: number): string => value.toString(16).padStart(length, '0');
const units = (text: string, one: (unit: string) => string): string =>
  [...text].map((char) => (/[A-Za-z0-9]/.test(char) ? char : one(char))).join('');
const percent: Encode = (char) =>
  [...Buffer.from(char)].map((byte) => `%${hex(byte, 2).toUpperCase()}`).join('');
const escaped: Encode = (char) =>
  char
    .split('')
    .map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`)
    .join('');
const entities = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' } as const;

/** The forms in which answers quote texts. */
const quoting: Readonly<Record<string, Encode>> = {
  'as it is': (text) => text,
  'URL component': encodeURIComponent,
  'URL, all characters': (text) => units(text, percent),
  'URL, small letters': (text) =>
    encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase()),
  form: (text) => new URLSearchParams({ k: text }).toString().slice(2),
  JSON: (text) => JSON.stringify(text).slice(1, -1),
  'JSON with slashes': (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
  'JSON with codes': (text) => units(text, escaped),
  XML: (text) => text.replace(/[&<>"']/g, (char) => `&${entities[char as keyof typeof entities]};`),
  'XML, decimal': (text) => units(text, (char) => `&#${char.codePointAt(0)};`),
  'XML, hexadecimal': (text) => units(text, (char) => `&#x${hex(char.codePointAt(0) ?? 0, 2)};`),
};

const base64: Readonly<Record<string, Encode>> = {
  base64: (text) => Buffer.from(text).toString('base64'),
  base64url: (text) => Buffer.from(text).toString('base64url'),
};

/** A pseudorandom number generator with a seed, 0 or more and less than `max`. */
function seeded(seed: number): (max: number) => number {
  let state = seed;
  return (max) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * max);
  };
}

const alphabet = [
  ...'abcXYZ0189',
  ...`+/=-_.~!*'()"\\&<>%#;:@?{}[] ,`,
  '\n',
  '\t',
  'é',
  '漢',
  '🔑',
];

/** Whether eight characters remain without quoting. Backslashes at the end of a secret are not removed from a text. */
const isLong = (text: string): boolean => unquoted(text).text.length >= 8 && !text.endsWith('\\');

const secrets = ((): readonly string[] => {
  const next = seeded(17);
  const one = (): string =>
    Array.from({ length: 8 + next(50) }, () => alphabet[next(alphabet.length)]).join('');
  const key = '-----BEGIN PRIVATE KEY-----\nMIIEv+/=\n-----END PRIVATE KEY-----\n';
  return [
    ...[
      'ab\\\\\\\\"\\\\\\nwxyz',
      'amp;amp;amp;',
      'ab%25%25%2525wxyz',
      '        ',
      '""""""""',
      '&&&&&&&&',
    ],
    ...['dop_v1_0123456789abcdef', JSON.stringify({ private_key: key, id: 'a&b' })],
    ...Array.from({ length: 150 }, one).filter(isLong),
  ];
})();

describe('a secret in an answer', () => {
  it('is one of more than a hundred in these tests', () => {
    expect(secrets).to.have.length.above(100);
  });

  for (const [outer, encode] of Object.entries(quoting))
    it(`is redacted in every form, quoted again: ${outer}`, () => {
      for (const secret of secrets)
        for (const [inner, quote] of Object.entries(quoting)) {
          const text = encode(quote(secret));
          const shown = redacted(`x|${text}|y|${text}|`, [secret]);
          expect(shown, `${inner} of ${secret}: ${text}`).to.equal('x|***|y|***|');
        }
    });

  for (const [name, encode] of Object.entries(base64))
    it(`is redacted in ${name}, also within a longer text, and quoted`, () => {
      for (const secret of secrets)
        for (const inner of ['as it is', 'JSON', 'URL component'] as const)
          for (const before of ['', 'u', 'u:', 'id:', '{"token":"'])
            for (const outer of ['as it is', 'JSON with slashes', 'URL component'] as const) {
              const quoted = quoting[inner]?.(secret) ?? '';
              const text = quoting[outer]?.(encode(`${before}${quoted}"}`)) ?? '';
              const shown = redacted(text, [secret]);
              expect(shown, `${text} of ${secret}`).to.include('***');
              // At most two characters at each end have bits of the secret and of the text beside it.
              const left = shown.replaceAll(/%../g, '+').replaceAll('\\/', '/').split('***');
              const most = Math.ceil((Buffer.byteLength(before) * 4) / 3) + 2;
              expect(left[0]?.length, `${shown} of ${secret}`).to.be.at.most(most);
              expect(left[1]?.length, `${shown} of ${secret}`).to.be.at.most(6);
            }
    });

  it('is not found in a text that only resembles it', () => {
    expect(redacted('abcdefg', ['abcdefgh'])).to.equal('abcdefg');
    expect(redacted('a%20b%20c%20d', ['a-b-c-d-'])).to.equal('a%20b%20c%20d');
    expect(redacted('YWJj', ['abc'])).to.equal('YWJj');
    expect(redacted('no volume of this name', ['no'])).to.equal('no volume of this name');
  });

  it('is searched for in bounded time, also in hostile texts', () => {
    const hostile = ['\\'.repeat(20_000), '%25'.repeat(7_000), '&amp;'.repeat(4_000)];
    const began = performance.now();
    for (const text of [...hostile, `${hostile.join('')}x`])
      for (const secret of ['\\\\\\\\\\\\\\\\"', '%%%%%%%%x', '&&&&&&&&x', '\\"\\"\\"\\"x'])
        redacted(text, [secret]);
    redacted('x'.repeat(100_000), [JSON.stringify({ key: '"\\\n'.repeat(5_000) })]);
    expect(performance.now() - began).to.be.below(5_000);
  });
});
