import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { ArchiveNames, archiveNamesMax } from './archive-names.js';

describe('the names in an archive of images', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-archive-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** An archive of tar(1) with a file before and after the list. */
  async function archive(list: string, text: string, options: readonly string[] = []) {
    await writeFile(join(folder, 'layer'), 'x'.repeat(70_001));
    await writeFile(join(folder, list), text);
    await writeFile(join(folder, 'last'), 'y'.repeat(1_000));
    const file = join(folder, 'archive.tar');
    const names = ['layer', list, 'last'];
    execFileSync('tar', ['-C', folder, ...options, '-cf', file, ...names]);
    return readFile(file);
  }
  const repeated = (count: number): string =>
    JSON.stringify([
      { RepoTags: ['first:1'] },
      { RepoTags: Array.from({ length: count - 1 }, (_, n) => `many:${n}`) },
      { RepoTags: null },
    ]);

  /** The part of an archive in pieces that is passed on, and the refusal if it is not all of it. */
  async function passed(tar: Buffer, pieceBytes: number): Promise<[Buffer, string]> {
    const names = new ArchiveNames();
    const pieces = Array.from({ length: Math.ceil(tar.length / pieceBytes) }, (_, n) =>
      tar.subarray(n * pieceBytes, (n + 1) * pieceBytes),
    );
    const through: Buffer[] = [];
    try {
      for await (const piece of names.pass(Readable.from(pieces))) through.push(piece as Buffer);
    } catch (error) {
      expect(error).to.equal(names.refusal);
    }
    return [Buffer.concat(through), names.refusal?.message ?? ''];
  }

  for (const pieceBytes of [7, 511, 512, 65_536, 1_048_576])
    it(`are counted in pieces of ${pieceBytes} bytes, and an archive with too many is cut off`, async () => {
      const few = await archive('manifest.json', repeated(archiveNamesMax));
      expect(await passed(few, pieceBytes)).to.deep.equal([few, '']);
      const many = await archive('manifest.json', repeated(archiveNamesMax + 1));
      const [through, why] = await passed(many, pieceBytes);
      expect(why).to.match(/has 1001 names of images, and at most 1000 .*docker save -o FILE/);
      expect(through.length).to.be.lessThan(many.length);
    });

  it('include those of an OCI index, and of a path with a dot', async () => {
    const manifests = Array.from({ length: archiveNamesMax + 1 }, () => ({ digest: 'x' }));
    const index = await archive('index.json', JSON.stringify({ manifests }));
    expect((await passed(index, 4_096))[1]).to.contain('1001 names');
    const dotted = await archive('./manifest.json', repeated(2_000));
    expect((await passed(dotted, 4_096))[1]).to.contain('2000 names');
  });

  it('are refused in a list of more than 4 MiB', async () => {
    const large = await archive('manifest.json', ' '.repeat(4 * 1_048_576 + 1));
    expect((await passed(large, 65_536))[1]).to.contain('a list of images of 4194305 bytes');
  });

  it('are not counted if the archive is compressed, or is not an archive', async () => {
    const compressed = await archive('manifest.json', repeated(2_000), ['-z']);
    const none = Buffer.from('no archive '.repeat(1_000));
    for (const each of [compressed, none, Buffer.alloc(0)])
      expect(await passed(each, 1_000)).to.deep.equal([each, '']);
  });
});
