import { expect } from 'chai';
import { seededRandom } from '../../base/index.js';
import { ConnectionError } from './frames.js';
import { HeaderDecoder } from './header-decoder.js';
import { HeaderEncoder } from './header-encoder.js';
import { huffmanText } from './huffman.js';
import type { Header } from './static-table.js';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const decoded = (text: string): string | undefined => {
  const bytes = hex(text);
  return huffmanText(bytes, 0, bytes.length);
};

describe('headers of HTTP/2', () => {
  it('have texts with the Huffman code of RFC 7541', () => {
    expect(decoded('f1e3 c2e5 f23a 6ba0 ab90 f4ff')).to.equal('www.example.com');
    expect(decoded('a8eb 1064 9cbf')).to.equal('no-cache');
    expect(decoded('25a8 49e9 5bb8 e8b4 bf')).to.equal('custom-value');
    expect(decoded('d07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff')).to.equal(
      'Mon, 21 Oct 2013 20:13:21 GMT',
    );
    expect(decoded('')).to.equal('');
  });

  it('have no text if its code contains the end, a long padding, or a padding of zeros', () => {
    for (const text of ['ffff ffff', 'ffff', '1fff', 'f100', '00'])
      expect(decoded(text), text).to.equal(undefined);
    expect(decoded('00 00 00 00 00'), 'five bits of each digit').to.equal('00000000');
  });

  it('are decoded as in the examples of RFC 7541, with one table for a connection', () => {
    const decoder = new HeaderDecoder();
    const first: Header[] = [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'www.example.com'],
    ];
    expect(decoder.decode(hex('8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff')).headers).to.deep.equal(
      first,
    );
    expect(decoder.decode(hex('8286 84be 5886 a8eb 1064 9cbf')).headers).to.deep.equal([
      ...first,
      ['cache-control', 'no-cache'],
    ]);
    expect(
      decoder.decode(hex('8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf')).headers,
    ).to.deep.equal([
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', '/index.html'],
      [':authority', 'www.example.com'],
      ['custom-key', 'custom-value'],
    ]);
  });

  it('are stored in a table of at most 4,096 bytes, which evicts the oldest entries first', () => {
    const decoder = new HeaderDecoder();
    const literal = (name: string, value: string): Buffer =>
      Buffer.concat([
        Buffer.from([0x40, name.length]),
        Buffer.from(name),
        Buffer.from([0x7f, value.length - 127]),
        Buffer.from(value),
      ]);
    // Each entry counts 1 + 200 + 32 bytes: 17 fit.
    for (const name of 'abcdefghijklmnopqrst') decoder.decode(literal(name, name.repeat(200)));
    expect(decoder.decode(Buffer.from([0x80 | 62])).headers[0]?.[0]).to.equal('t');
    expect(decoder.decode(Buffer.from([0x80 | (62 + 16)])).headers[0]?.[0]).to.equal('d');
    expect(() => decoder.decode(Buffer.from([0x80 | (62 + 17)]))).to.throw(ConnectionError);
    decoder.decode(Buffer.from([0x20]));
    expect(() => decoder.decode(Buffer.from([0x80 | 62]))).to.throw(ConnectionError);
  });

  it('are bounded, although one byte may refer to a long header', () => {
    const decoder = new HeaderDecoder();
    // 4,000 is 127, 33 and 30 times 128.
    const long = Buffer.concat([
      Buffer.from([0x40, 1, 0x61, 0x7f, 0xa1, 30]),
      Buffer.alloc(4_000, 98),
    ]);
    expect(decoder.decode(long).headers).to.deep.equal([['a', 'b'.repeat(4_000)]]);
    const { headers, tooLarge } = decoder.decode(Buffer.alloc(10_000, 0x80 | 62));
    expect(tooLarge).to.equal(true);
    expect(headers).to.have.length(Math.floor(65_536 / 4_033));
    const many = new HeaderDecoder().decode(Buffer.alloc(129, 0x82));
    expect([many.tooLarge, many.headers.length]).to.deep.equal([true, 128]);
  });

  const invalid: Readonly<Record<string, string>> = {
    'a number beyond 28 bits': 'ff ff ff ff ff ff 0f',
    'a number that is cut': 'ff',
    'a text that is cut': '40 05 61',
    'entry 0': '80',
    'an entry that is missing': 'be',
    'a table beyond 4,096 bytes': '3f e2 1f',
    'a size of the table after a header': '82 20',
    'an invalid Huffman code': '40 84 ff ff ff ff 00',
  };
  for (const [what, bytes] of Object.entries(invalid))
    it(`are refused with ${what}`, () => {
      expect(() => new HeaderDecoder().decode(hex(bytes))).to.throw(ConnectionError);
    });

  for (const [name, value] of [
    ['Upper', 'x'],
    ['', 'x'],
    ['a b', 'x'],
    ['connection', 'close'],
    ['transfer-encoding', 'chunked'],
    ['x', 'a\r\nb: c'],
    ['x', 'a\0'],
  ] as const)
    it(`are malformed with ${JSON.stringify([name, value])}`, () => {
      const bytes = [0, name.length, ...Buffer.from(name), value.length, ...Buffer.from(value)];
      expect(new HeaderDecoder().decode(Buffer.from(bytes)).malformed).to.equal(true);
    });

  it('are malformed with a forbidden name of the static table', () => {
    for (const bytes of ['b9', '0f 2a 01 78'])
      expect(new HeaderDecoder().decode(hex(bytes)).malformed, bytes).to.equal(true);
  });

  it('that are malformed are not kept for later calls', () => {
    for (const bytes of ['40 01 58 01 78', '40 01 78 01 0a', '79 01 78'])
      expect(() => new HeaderDecoder().decode(hex(bytes)), bytes).to.throw(ConnectionError);
  });

  it('of random bytes are decoded or refused', () => {
    const random = seededRandom(19);
    for (let round = 0; round < 3_000; round += 1) {
      const decoder = new HeaderDecoder();
      const bytes = Buffer.from(
        Array.from({ length: random.next() * 60 }, () => Math.floor(random.next() * 256)),
      );
      try {
        for (let again = 0; again < 3; again += 1) decoder.decode(bytes);
      } catch (error) {
        expect(error).to.be.instanceOf(ConnectionError);
      }
    }
  });

  const recurring: readonly Header[] = [
    [':status', '200'],
    ['content-type', 'application/grpc+proto'],
    ['grpc-accept-encoding', 'identity,gzip,deflate'],
  ];
  const trailers: readonly Header[] = [['grpc-status', '0']];

  it('that recur are sent by index, and all are decoded', () => {
    const encoder = new HeaderEncoder();
    const decoder = new HeaderDecoder();
    const lengths: number[] = [];
    for (let n = 0; n < 4; n += 1)
      for (const [headers, others] of [
        [recurring, []],
        [trailers, []],
        [recurring, [['x-number', String(n)] as Header, ['x-long', 'y'.repeat(5_000)] as Header]],
      ] as const) {
        const bytes = encoder.encode(headers, others);
        lengths.push(bytes.length);
        expect(decoder.decode(bytes).headers).to.deep.equal([...headers, ...others]);
      }
    expect(lengths.slice(3, 5)).to.deep.equal([3, 1]);
  });

  it('are sent without a table to a client that has none', () => {
    const encoder = new HeaderEncoder();
    const decoder = new HeaderDecoder();
    decoder.decode(encoder.encode(recurring));
    encoder.setTableSize(0);
    const first = encoder.encode(recurring);
    expect(first[0], 'the size of the table').to.equal(0x20);
    expect(decoder.decode(first).headers).to.deep.equal(recurring);
    const second = encoder.encode(trailers);
    expect(second[0]).to.equal(0);
    expect(decoder.decode(second).headers).to.deep.equal(trailers);
  });
});
