import { spawnSync } from 'node:child_process';
import {
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type CallContext, type Driver, readMountTable, thisNode } from '@kedge/driver-sdk';
import { FakeClock } from 'kedge/testing';
import type { Volume } from '../../volume/kind.js';
import { NodeVolumes, type PreparedMount } from './node-volumes.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const volume = { namespace: 'default', name: 'v', metadata, handle: 'h' } as unknown as Volume;

function system(...[command = '', ...args]: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
}

describe('a directory of the host that a workload mounts', () => {
  const { signal } = new AbortController();
  let base: string;
  /** The directory of the volume, below one that another workload may write to. */
  let path: string;
  let node: NodeVolumes;

  before(function () {
    if (process.getuid?.() === 0) return;
    if (process.env.CI) throw new Error('CI must run these: they mount, which needs root');
    console.log('      skipped: these tests mount, which needs root');
    this.skip();
  });
  beforeEach(async () => {
    base = await realpath(await mkdtemp(join(tmpdir(), 'kedge-host-dir-')));
    path = join(base, 'shared/own');
    for (const folder of ['shared/own/disk', 'victim/own', 'mounts'])
      await mkdir(join(base, folder), { recursive: true });
    await writeFile(join(path, 'mine'), '');
    await writeFile(join(base, 'victim/secret'), '');
    // As on machines with systemd: mounts of the host appear in all their copies, and vanish from them.
    system('mount', '--bind', base, base);
    system('mount', '--make-shared', base);
    node = new NodeVolumes({
      mountRoot: join(base, 'mounts'),
      host: thisNode,
      mayMount: true,
      clock: new FakeClock(),
    });
  });
  afterEach(async () => {
    if (!base) return;
    system('umount', '--recursive', base);
    await rm(base, { recursive: true });
  });

  function prepare(
    runtime: 'container' | 'process',
    fields: { readonly subPath?: string } = {},
  ): Promise<PreparedMount> {
    const driver = {
      capabilities: () => ({ blockDevice: false, ownsData: false }),
      attach: () => Promise.resolve({ devicePath: '' }),
      mount: () => Promise.resolve({ path }),
    } as unknown as Driver;
    const mount = { name: 'data', mountPath: '/d', claim: { name: 'v' }, ...fields };
    const call = { signal } as unknown as CallContext;
    return node.prepare(volume, mount, { claim: 'default/a-0', runtime }, driver, call);
  }
  const refusal = (fields: { readonly subPath?: string } = {}): Promise<string> =>
    prepare('container', fields).then(() => '', String);
  const mounted = async (target: string): Promise<boolean> =>
    (await readMountTable()).some((entry) => entry.target === target);

  it('is bound for a container, whose engine would follow links, and shown by its path', async () => {
    const { source, shown } = await prepare('container');
    expect(source).to.equal(join(base, 'mounts/binds/u/default+a-0/data'));
    expect(shown).to.equal(path);
    expect(await readdir(source)).to.have.members(['mine', 'disk']);
    await node.unbind(volume, 'default/a-0', signal);
    expect(await readdir(join(base, 'mounts/binds'))).to.deep.equal([]);
    expect(await readdir(path)).to.have.members(['mine', 'disk']);
  });

  it('is used in place by a process, whose supervisor follows no link', async () => {
    expect(await prepare('process'))
      .to.include({ source: path })
      .and.not.to.have.property('shown');
  });

  it('is not another one that a link leads to, in its place or above it, also for a subPath', async () => {
    await rename(path, join(base, 'shared/before'));
    await symlink(join(base, 'victim'), path);
    for (const subPath of ['', 'own', 'new']) {
      expect(await refusal({ subPath }), subPath).to.contain(
        `hostPath ${path} was removed, or a directory of the path was replaced by a symbolic link`,
      );
      expect(await readdir(join(base, 'victim'))).to.have.members(['own', 'secret']);
    }
    await rename(join(base, 'shared'), join(base, 'moved'));
    await symlink('victim', join(base, 'shared'));
    for (const subPath of ['', 'new']) {
      expect(await refusal({ subPath }), subPath).to.contain('replaced by a symbolic link');
      expect(await readdir(join(base, 'victim/own'))).to.deep.equal([]);
    }
  });

  for (const subPath of ['', 'disk'])
    it(`has the disks of the host below it, which stay when it is unmounted, subPath "${subPath}"`, async () => {
      const disk = join(path, 'disk');
      if (subPath === '') system('mount', '-t', 'tmpfs', 'early', disk);
      const { source } = await prepare('container', { subPath });
      const late = join(disk, 'late');
      await mkdir(late);
      system('mount', '-t', 'tmpfs', 'late', late);
      expect(await mounted(join(source, subPath === '' ? 'disk/late' : 'late'))).to.equal(true);
      expect((await node.mounted()).map(({ target }) => target)).to.deep.equal([source]);
      await node.unbind(volume, 'default/a-0', signal);
      expect(await mounted(source)).to.equal(false);
      expect(await mounted(late), 'the disk of the host').to.equal(true);
      expect(await readdir(join(base, 'mounts/binds'))).to.deep.equal([]);
    });
});
