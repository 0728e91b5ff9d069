import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { memoryOperations, mountBlockDevice } from '@kedge/driver-sdk';
import { requireDevices } from './devices.js';

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

describe('a ReadOnlyMany volume from a snapshot of a mounted ext4 file system', function () {
  this.timeout(60_000);
  let folder: string;
  const undo: (() => void)[] = [];

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-journal-'));
  });
  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) step();
    await rm(folder, { recursive: true, force: true });
  });

  it('is mounted from a write-protected device although its journal was not replayed', async () => {
    const [source, copy] = [join(folder, 'source'), join(folder, 'copy')];
    await writeFile(source, '');
    await truncate(source, 64 * 1024 ** 2);
    run('mkfs.ext4', '-q', source);
    const live = join(folder, 'live');
    await mkdir(live);
    run('mount', '-o', 'loop', source, live);
    try {
      await writeFile(join(live, 'file'), 'kept');
      run('sync', '-f', live);
      await copyFile(source, copy);
    } finally {
      run('umount', live);
    }
    expect(run('dumpe2fs', '-h', copy)).to.contain('needs_recovery');
    const device = run('losetup', '-f', '-r', '--show', copy);
    undo.push(() => run('losetup', '-d', device));
    const target = join(folder, 'mounts', 'data');
    await mountBlockDevice({
      volume: { uid: 'v', name: 'data', namespace: 'shop' },
      node: 'worker-1',
      handle: device,
      operations: memoryOperations(),
      devicePath: device,
      target,
      readOnly: true,
      mayFormat: false,
      parameters: {},
      signal: new AbortController().signal,
    });
    undo.push(() => run('umount', target));
    expect(await readFile(join(target, 'file'), 'utf8')).to.equal('kept');
  });
});
