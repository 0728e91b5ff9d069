import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { propagationOf } from './mount-propagation.js';

describe('the propagation of a mount source', () => {
  let folder: string;
  let table: string;

  beforeEach(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'kedge-propagation-')));
    table = join(folder, 'mountinfo');
    await mkdir(join(folder, 'private/data'), { recursive: true });
    await symlink(join(folder, 'private'), join(folder, 'link'));
    await writeFile(
      table,
      `1 0 8:1 / / rw shared:1 - ext4 /dev/a rw\n2 1 8:2 / ${folder}/private rw - ext4 /dev/b rw\n`,
    );
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is that of its mount', async () => {
    const sources = [join(folder, 'private/data'), folder];
    expect(await propagationOf(sources, table)).to.deep.equal(['rprivate', 'rslave']);
  });

  it('is that of the directory to which a link in its path leads, as the engine mounts it', async () => {
    expect(await propagationOf([join(folder, 'link/data')], table)).to.deep.equal(['rprivate']);
  });

  it('is that of its path if it is absent', async () => {
    expect(await propagationOf([join(folder, 'absent')], table)).to.deep.equal(['rslave']);
  });
});
