import { Readable } from 'node:stream';
import { expect } from 'chai';
import { ArchiveNames } from './archive-names.js';

interface Entry {
  readonly name: string;
  readonly data?: string;
  readonly type?: string;
  readonly prefix?: string;
  /** The field of the size; the length of the data by default. */
  readonly size?: Buffer | string;
  readonly magic?: string;
}

/** A file of a tar archive with its header. */
function entry({ name, data = '', type = '0', prefix = '', size, magic = 'ustar' }: Entry): Buffer {
  if (type === 'raw') return Buffer.alloc(512, data);
  const header = Buffer.alloc(512);
  header.write(name, 0, 'latin1');
  const length = size ?? `${Buffer.byteLength(data).toString(8).padStart(11, '0')}\0`;
  (typeof length === 'string' ? Buffer.from(length, 'latin1') : length).copy(header, 124);
  header.fill(' ', 148, 156);
  header.write(type, 156, 'latin1');
  header.write(magic, 257, 'latin1');
  header.write(prefix, 345, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  const body = Buffer.alloc(Math.ceil(Buffer.byteLength(data) / 512) * 512);
  body.write(data);
  return Buffer.concat([header, body]);
}

function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const digits = String(rest.length + String(rest.length).length).length;
  return `${rest.length + digits}${rest}`;
}

async function refusal(...entries: readonly Entry[]): Promise<string> {
  const names = new ArchiveNames();
  const tar = Buffer.concat([...entries.map(entry), Buffer.alloc(1_024)]);
  try {
    for await (const piece of names.pass(Readable.from([tar])))
      expect(piece).to.be.instanceOf(Buffer);
  } catch (error) {
    expect(error).to.equal(names.refusal);
  }
  return names.refusal?.message ?? '';
}

describe('a list of images that an archive hides', () => {
  const tags = Array.from({ length: 2_000 }, (_, n) => `many:${n}`);
  const data = JSON.stringify([{ RepoTags: tags }]);
  const list: Entry = { name: 'manifest.json', data };
  const base256 = Buffer.alloc(12);
  base256.writeUInt8(0x80, 0);
  base256.writeUInt32BE(data.length, 8);

  const counted: Readonly<Record<string, readonly Entry[]>> = {
    'by dots': [{ name: '././manifest.json', data }],
    'by a parent': [{ name: 'x/../manifest.json', data }],
    'by a prefix': [{ name: 'manifest.json', prefix: '.', data }],
    'in a prefix': [{ name: '.', prefix: 'manifest.json', data }],
    'by a link of its folder': [
      { name: 'a', type: '2' },
      { name: 'a/manifest.json', data },
    ],
    'by a name of pax': [
      { name: 'pax', type: 'x', data: record('path', 'manifest.json') },
      { name: 'x', data },
    ],
    'by a long name of GNU': [
      { name: '././@LongLink', type: 'L', data: 'manifest.json\0' },
      { name: 'x', data },
    ],
    'behind a size of pax': [
      { name: 'pax', type: 'x', data: record('size', '0') },
      { name: 'x', size: '00001000000\0' },
      list,
    ],
    'behind a folder with a size': [{ name: 'd', type: '5', size: '00001000000\0' }, list],
    'behind a header without magic': [{ name: 'x', magic: '' }, list],
    'by a size of base 256': [{ ...list, size: base256 }],
    'by a size after a zero byte': [{ ...list, size: `\0${data.length.toString(8)}\0` }],
    'behind a size of pax that a later header replaces': [
      { name: 'pax', type: 'x', data: record('size', '100000') },
      { name: 'pax', type: 'x', data: record('comment', 'x') },
      { name: 'x' },
      list,
    ],
    'behind a size of pax that is taken back': [
      { name: 'pax', type: 'x', data: `${record('size', '100000')}${record('size', '')}` },
      { name: 'x' },
      list,
    ],
    'behind a global header of pax': [
      { name: 'pax', type: 'x', data: record('size', '100000') },
      { name: 'global', type: 'g' },
      list,
    ],
    'behind an old folder with a size': [{ name: 'd/', type: '\0', size: '00000303240\0' }, list],
    'behind a folder whose size can not be read': [
      { name: 'd', type: '5', size: Buffer.alloc(12, 0xff) },
      list,
    ],
    'by a prefix of star': [
      { name: '.', prefix: `${'./'.repeat(59)}manifest.json00000000000\0`, data },
    ],
    'by the case of a field': [
      { ...list, data: JSON.stringify([{ RepoTags: [], repotags: tags }]) },
    ],
    'in the list of older releases': [
      {
        name: 'repositories',
        data: JSON.stringify({ many: Object.fromEntries(tags.map((tag) => [tag, 'x'])) }),
      },
    ],
  };
  for (const [how, entries] of Object.entries(counted))
    it(`is counted: ${how}`, async () => {
      expect(await refusal(...entries)).to.contain('2000 names of images');
    });

  const refused: Readonly<Record<string, readonly [RegExp, readonly Entry[]]>> = {
    'a hard link': [/manifest\.json as a link/, [{ name: 'manifest.json', type: '1' }]],
    'a symbolic link': [/index\.json as a link/, [{ name: './index.json', type: '2' }]],
    'a sparse file': [/a sparse file/, [{ ...list, type: 'S' }]],
    'a sparse file of pax': [
      /a sparse file/,
      [{ name: 'pax', type: 'x', data: record('GNU.sparse.name', 'manifest.json') }, list],
    ],
    'a text after the list': [
      /manifest\.json that is not valid JSON/,
      [{ ...list, data: `${data}]` }],
    ],
    'a header of pax that is damaged': [
      /a damaged pax header/,
      [{ name: 'pax', type: 'x', data: '+22 path=manifest.json\n' }],
    ],
    'a header that can not be read after others': [
      /a damaged header/,
      [{ name: 'x' }, { name: '', type: 'raw', data: 'x' }, list],
    ],
    'a name of more than 4096 bytes': [
      /a name of 5000 bytes/,
      [{ name: '././@LongLink', type: 'L', data: 'a/'.repeat(2_500) }],
    ],
    'a name of pax of more than 4096 bytes': [
      /a name of 4099 bytes/,
      [{ name: 'pax', type: 'x', data: record('path', `${'../'.repeat(1_366)}x`) }],
    ],
    'a long name of 2 MiB': [
      /a header of 2097152 bytes/,
      [{ name: '././@LongLink', type: 'L', size: '00010000000\0' }],
    ],
  };
  for (const [what, [message, entries]] of Object.entries(refused))
    it(`is refused: ${what}`, async () => {
      const why = await refusal(...entries);
      expect(why).to.match(message);
      expect(why).to.contain('docker save -o FILE IMAGE');
    });
});
