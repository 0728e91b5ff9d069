import { execFileSync } from 'node:child_process';
import { lstat, mkdtemp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  memoryOperations,
  mountBlockDevice,
  readMountTable,
  unmountTarget,
} from '@kedge/driver-sdk';
import { cleanUp, requireDevices } from './devices.js';

describe('an xfs that was shut down after an error of its device, on real devices', function () {
  this.timeout(120_000);
  const { signal } = new AbortController();
  let folder: string;
  let target: string;
  let device: string;

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-shut-down-'));
    target = join(folder, 'mounts', 'v');
    await mkdir(join(folder, 'mounts'));
    const image = join(folder, 'image');
    await writeFile(image, '');
    execFileSync('truncate', ['-s', '400M', image]);
    const found = execFileSync('losetup', ['--find', '--show', image], { encoding: 'utf8' });
    device = found.trim();
  });
  afterEach(() => cleanUp(folder));

  const mount = () =>
    mountBlockDevice({
      volume: { uid: 'v', name: 'v', namespace: 'shop' },
      ...{ handle: 'v', parameters: { fsType: 'xfs' }, node: 'n', devicePath: device, target },
      ...{ readOnly: false, mayFormat: true, operations: memoryOperations(), signal },
    });

  const shutDown = async () => {
    await mount();
    await writeFile(join(target, 'data'), 'kept');
    execFileSync('sync', ['--file-system', target]);
    execFileSync('xfs_io', ['-x', '-c', 'shutdown', target]);
    const error: unknown = await lstat(target).catch((thrown: unknown) => thrown);
    expect(error, 'it can not be read').to.include({ code: 'EIO' });
  };

  it('heals at the next mount', async () => {
    await shutDown();
    await mount();
    expect(await readFile(join(target, 'data'), 'utf8')).to.equal('kept');
  });

  for (const known of [true, false])
    it(`is unmounted, ${known ? 'with its device' : 'also without its link'}`, async () => {
      await shutDown();
      await unmountTarget(target, signal, undefined, known ? device : undefined);
      expect((await readMountTable()).filter((entry) => entry.target === target)).to.deep.equal([]);
    });
});
