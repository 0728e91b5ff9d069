import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  type CallContext,
  type Driver,
  memoryOperations,
  mountBlockDevice,
  readMountTable,
  thisNode,
} from '@kedge/driver-sdk';
import { FakeClock } from 'kedge/testing';
import type { Volume } from '../../volume/kind.js';
import { bindDirectory, unbindDirectory } from './bind-mount.js';
import { NodeVolumes } from './node-volumes.js';

describe('the bind mount of a volume whose xfs was shut down after an error of its device', function () {
  this.timeout(60_000);
  const { signal } = new AbortController();
  let base: string;
  let target: string;
  /** The loop device of a test, if it has one. */
  let device: string | undefined;

  before(function () {
    if (process.getuid?.() === 0) return;
    if (process.env.CI) throw new Error('CI must run these: they mount, which needs root');
    console.log('      skipped: these tests mount, which needs root');
    this.skip();
  });
  beforeEach(async () => {
    device = undefined;
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
    if (device !== undefined) execFileSync('losetup', ['--detach', device]);
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

  it('is unmounted before the next mount of the same device, which heals it', async () => {
    const image = join(base, 'other');
    execFileSync('truncate', ['-s', '400M', image]);
    const found = execFileSync('losetup', ['--find', '--show', image], { encoding: 'utf8' }).trim();
    device = found;
    const node = new NodeVolumes({
      ...{ mountRoot: join(base, 'mounts'), host: thisNode, mayMount: true },
      clock: new FakeClock(),
    });
    const driver: Pick<Driver, 'attach' | 'mount'> = {
      attach: () => Promise.resolve({ devicePath: found }),
      mount: (request) => mountBlockDevice(request),
    };
    const call: CallContext = {
      volume: { uid: 'u', name: 'v', namespace: 'shop' },
      ...{ parameters: { fsType: 'xfs' }, node: 'n', signal, operations: memoryOperations() },
    };
    const prepare = async (formatted: boolean): Promise<string> => {
      const volume = {
        namespace: 'shop',
        name: 'v',
        metadata: { uid: 'u' },
        handle: 'h',
        formatted,
      };
      const { source } = await node.prepare(
        volume as unknown as Volume,
        { name: 'data', mountPath: '/d', claim: { name: 'v' } },
        { claim: 'shop/a-0', runtime: 'container' },
        {
          ...driver,
          capabilities: () => ({ blockDevice: true, ownsData: true }),
        } as unknown as Driver,
        call,
      );
      return source;
    };
    const source = await prepare(false);
    await writeFile(join(source, 'data'), 'kept');
    execFileSync('sync', ['--file-system', source]);
    execFileSync('xfs_io', ['-x', '-c', 'shutdown', source]);
    expect(await prepare(true)).to.equal(source);
    expect(await readFile(join(source, 'data'), 'utf8')).to.equal('kept');
  });
});
