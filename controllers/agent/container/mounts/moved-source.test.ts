import { mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { requireUnmoved } from './moved-source.js';

describe('sources of mounts before the start of a container', () => {
  let base: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'kedge-moved-'));
    for (const folder of ['shared/own/deep', 'victim', 'real/data/binds/m'])
      await mkdir(join(base, folder), { recursive: true });
  });
  afterEach(() => rm(base, { recursive: true }));
  const problem = (source: string, own: readonly string[] = []): Promise<string> =>
    requireUnmoved([{ source, target: '/data', readOnly: false }], own).then(
      () => '',
      (error: unknown) => (error as Error).message,
    );

  it('a directory whose path has no link is accepted', async () => {
    expect(await problem(join(base, 'shared/own/deep'))).to.equal('');
  });

  it('a source or a parent of it that was replaced by a link is refused with what to do', async () => {
    await rename(join(base, 'shared/own'), join(base, 'shared/before'));
    await symlink(join(base, 'victim'), join(base, 'shared/own'));
    expect(await problem(join(base, 'shared/own'))).to.equal(
      `mount /data: its source ${base}/shared/own leads to ${base}/victim, because a directory of the path was replaced by a symbolic link; put the directory back on the node, or change the volume's parameter hostPath`,
    );
    await mkdir(join(base, 'victim/deep'));
    expect(await problem(join(base, 'shared/own/deep'))).to.contain('leads to');
    await rm(join(base, 'shared/own'));
    expect(await problem(join(base, 'shared/own'))).to.contain("can't be resolved");
  });

  it('links that lead to a directory of the daemon are accepted, links below it are not', async () => {
    await symlink(join(base, 'real/data'), join(base, 'data'));
    const own = [join(base, 'data')];
    expect(await problem(join(base, 'data/binds/m'), own)).to.equal('');
    expect(await problem(join(base, 'data/binds/m'))).to.contain('leads to');
    await symlink(join(base, 'victim'), join(base, 'data/binds/link'));
    expect(await problem(join(base, 'data/binds/link'), own)).to.contain('leads to');
  });
});
