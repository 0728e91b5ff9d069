import { mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeDirectory } from './make-directory.js';
import { thisNode } from './this-node.js';

describe('makeDirectory', () => {
  let base: string;
  beforeEach(async () => (base = await mkdtemp(join(tmpdir(), 'kedge-make-'))));
  afterEach(() => rm(base, { recursive: true }));

  const codeOf = (work: Promise<void>): Promise<string | undefined> =>
    work.then(
      () => undefined,
      (error: unknown) => (error as NodeJS.ErrnoException).code,
    );

  it('creates missing parents with the same mode, and keeps what exists', async () => {
    const path = join(base, 'a/b/c');
    await Promise.all([makeDirectory(path, 0o700), makeDirectory(join(base, 'a/b/d'), 0o700)]);
    for (const name of ['a', 'a/b', 'a/b/c', 'a/b/d'])
      expect((await stat(join(base, name))).mode & 0o777).to.equal(0o700);
    await makeDirectory(path, 0o755);
    expect((await stat(path)).mode & 0o777).to.equal(0o700);
    await symlink(path, join(base, 'link'));
    await makeDirectory(join(base, 'link'), 0o755);
  });

  it('reports the error of the system', async () => {
    await writeFile(join(base, 'file'), '');
    await symlink(join(base, 'nowhere'), join(base, 'dangling'));
    expect(await codeOf(makeDirectory(join(base, 'file'), 0o755))).to.equal('EEXIST');
    expect(await codeOf(makeDirectory(join(base, 'file/x'), 0o755))).to.equal('ENOTDIR');
    expect(await codeOf(makeDirectory(join(base, 'dangling'), 0o755))).to.equal('EEXIST');
  });

  it('ends with an error below /proc, where nothing can be created', async function () {
    if (process.platform !== 'linux') this.skip();
    for (const path of ['/proc/kedge', '/proc/kedge/a/b', '/proc/self/kedge'])
      expect(await codeOf(makeDirectory(path, 0o755)), path).to.equal('ENOENT');
    const options = { mode: 0o755, parents: true };
    expect(await codeOf(thisNode.files.makeFolder('/proc/kedge/a', options))).to.equal('ENOENT');
  });
});
