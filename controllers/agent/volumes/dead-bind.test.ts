import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readMountTable, thisNode } from '@kedge/driver-sdk';
import { bindDirectory, unbindDirectory } from './bind-mount.js';

describe('the bind mount of a volume whose xfs was shut down after an error of its device', function () {
  this.timeout(60_000);
  const { signal } = new AbortController();
  let base: string;
  let target: string;

  before(function () {
    if (process.getuid?.() === 0) return;
    if (process.env.CI) throw new Error('CI must run these: they mount, which needs root');
    console.log('      skipped: these tests mount, which needs root');
    this.skip();
  });
  beforeEach(async () => {
    base = await realpath(await mkdtemp(join(tmpdir(), 'kedge-dead-bind-')));
    target = join(base, 'binds/v');
    for (const folder of ['dead', 'live', 'binds']) await mkdir(join(base, folder));
    await writeFile(join(base, 'live/data'), '');
    execFileSync('truncate', ['-s', '400M', join(base, 'image')]);
    execFileSync('mkfs.xfs', ['-q', join(base, 'image')]);
    execFileSync('mount', ['-o', 'loop', join(base, 'image'), join(base, 'dead')]);
    await bind('dead');
    execFileSync('xfs_io', ['-x', '-c', 'shutdown', join(base, 'dead')]);
    const error: unknown = await stat(target).catch((thrown: unknown) => thrown);
    expect(error, 'it can not be read').to.include({ code: 'EIO' });
  });
  afterEach(async () => {
    if (!base) return;
    for (const { target: at } of [...(await readMountTable())].reverse())
      if (at.startsWith(`${base}/`)) execFileSync('umount', ['--lazy', at]);
    await rm(base, { recursive: true });
  });

  const bind = (root: string): Promise<void> =>
    bindDirectory(thisNode, {
      ...{ root: join(base, root), subPath: '', isOfHost: false, readOnly: false, target, signal },
    });

  it('is replaced once the volume is mounted again', async () => {
    await bind('live');
    expect(await readdir(target)).to.deep.equal(['data']);
  });

  it('is removed', async () => {
    await unbindDirectory(thisNode, target, signal);
    expect(await readdir(join(base, 'binds'))).to.deep.equal([]);
  });
});
