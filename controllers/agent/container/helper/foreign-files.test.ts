import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { removeAlsoForeign } from './foreign-files.js';

describe('a directory with files of other users', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-foreign-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function commandFor(name: string): Promise<string | undefined> {
    const path = join(folder, name);
    await mkdir(path);
    const once = { run: () => Promise.reject(new Error('no engine')) };
    const foreign = (process.getuid?.() ?? 0) + 1;
    const { signal } = new AbortController();
    const error = await removeAlsoForeign(path, foreign, once, signal).catch((e: unknown) => e);
    expect(error).to.have.property('kind', 'PermissionDenied');
    return String(error).split('; type: ')[1];
  }

  it('is removed by a command that the shell reads as one path', async () => {
    expect(await commandFor('plain')).to.equal(`sudo rm -rf ${folder}/plain`);
    expect(await commandFor("user's data")).to.equal(`sudo rm -rf '${folder}/user'\\''s data'`);
    expect(await commandFor('a; b')).to.equal(`sudo rm -rf '${folder}/a; b'`);
  });
});
