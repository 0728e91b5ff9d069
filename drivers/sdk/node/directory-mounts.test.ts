import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { directoryMounts, mountsOf } from './directory-mounts.js';
import type { MountEntry } from './mount-table.js';

const program = 'mount --bind "$1" "$2" && echo mounted && exec sleep 600';

const mountAt = (target: string, device: string, root: string): MountEntry => ({
  target,
  device,
  root,
  readOnly: false,
  fsType: 'ext4',
  source: '/dev/sdb',
});

describe('mounts of a directory that is itself a mount of a whole file system', () => {
  it('are found with those of the directories in it', () => {
    const own = [mountAt('/', '8:1', '/'), mountAt('/volumes/u', '8:16', '/')];
    const whole = mountAt('/data', '8:16', '/');
    const part = mountAt('/sub', '8:16', '/pg');
    const other = mountAt('/other', '8:1', '/volumes');
    expect(mountsOf('/volumes/u', own, [whole, part, other])).to.deep.equal([whole, part]);
    expect(mountsOf('/volumes/u/pg', own, [whole, part, other])).to.deep.equal([part]);
    expect(mountsOf('/volumes', own, [whole, part, other])).to.deep.equal([other]);
    expect(mountsOf('/volumes', [], [whole, part, other])).to.deep.equal([]);
  });
});

describe('mounts of a directory in other mount namespaces', function () {
  this.timeout(60_000);
  let folder: string;
  let child: ChildProcess | undefined;

  beforeEach(async function () {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) this.skip();
    folder = await realpath(await mkdtemp(join(tmpdir(), 'kedge-bound-')));
    for (const name of ['root/volume', 'rooted', 'at'])
      await mkdir(join(folder, name), { recursive: true });
  });
  afterEach(async () => {
    if (child && child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
    if (folder) await rm(folder, { recursive: true });
  });

  it('are found with their process, for the directory and those above it alone', async () => {
    const paths = ['root/volume', 'at'].map((name) => join(folder, name));
    const parts = ['--mount', 'sh', '-c', program, 'sh', ...paths];
    child = spawn('unshare', parts, { stdio: ['ignore', 'pipe', 'inherit'] });
    if (child.stdout) await once(child.stdout, 'data');
    const found = await directoryMounts.holders({ directory: join(folder, 'root') });
    expect(found.map((one) => one.type === 'mount' && [one.target, one.here])).to.deep.equal([
      [join(folder, 'at'), false],
    ]);
    expect(found[0]).to.include({ pid: child.pid });
    for (const name of ['rooted', 'at'])
      expect(await directoryMounts.holders({ directory: join(folder, name) })).to.deep.equal([]);
  });
});
