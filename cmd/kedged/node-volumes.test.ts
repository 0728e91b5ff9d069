import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { mountRootIn } from './node-volumes.js';

describe('the directory of the mounts of a daemon', () => {
  let base: string;

  beforeEach(async () => {
    base = await realpath(await mkdtemp(join(tmpdir(), 'kedge-mount-root-')));
    await mkdir(join(base, 'disk/kedge'), { recursive: true });
    await mkdir(join(base, 'lib'));
    await symlink(join(base, 'disk/kedge'), join(base, 'lib/kedge'));
  });
  afterEach(() => rm(base, { recursive: true }));

  it('has the path by which the mount table names its mounts, before and after the first one', async () => {
    const data = join(base, 'lib/kedge');
    expect(await mountRootIn(data)).to.equal(join(base, 'disk/kedge/mounts'));
    await mkdir(join(data, 'mounts'));
    expect(await mountRootIn(data)).to.equal(join(base, 'disk/kedge/mounts'));
  });

  it('may itself be a link', async () => {
    await mkdir(join(base, 'elsewhere'));
    await symlink(join(base, 'elsewhere'), join(base, 'disk/kedge/mounts'));
    expect(await mountRootIn(join(base, 'lib/kedge'))).to.equal(join(base, 'elsewhere'));
  });

  it('is not guessed if the data directory is absent', async () => {
    const answer = await mountRootIn(join(base, 'none')).catch(String);
    expect(answer).to.contain('ENOENT');
  });
});
