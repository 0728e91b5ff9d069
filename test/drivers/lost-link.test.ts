import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  createBlockDriver,
  type Driver,
  memoryOperations,
  readMountTable,
  thisNode,
} from '@kedge/driver-sdk';
import { cleanUp, requireDevices } from './devices.js';

describe('the release of a volume without its link, on a real device', function () {
  this.timeout(180_000);
  let folder: string;
  let target: string;
  let device: string;
  let children: ChildProcess[];
  let detached: number;

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    [children, detached] = [[], 0];
    folder = await mkdtemp(join(tmpdir(), 'kedge-lost-link-'));
    // As below the shared root of systemd.
    execFileSync('mount', ['--bind', folder, folder]);
    execFileSync('mount', ['--make-shared', folder]);
    target = join(folder, 'mounts', 'v');
    await mkdir(target, { recursive: true });
    const image = join(folder, 'image');
    await writeFile(image, '');
    execFileSync('truncate', ['-s', '16M', image]);
    const losetup = ['--find', '--show', image];
    device = execFileSync('losetup', losetup, { encoding: 'utf8' }).trim();
    execFileSync('mkfs.ext4', ['-q', device]);
  });
  afterEach(async () => {
    for (const child of children) await end(child);
    await cleanUp(folder);
  });

  /** A process in a mount namespace of its own, until the end of the test. */
  async function unshared(propagation: string, prepare = ':'): Promise<ChildProcess> {
    const program = ['sh', '-c', `${prepare}; echo on; read end`];
    const child = spawn('unshare', ['--mount', '--propagation', propagation, ...program], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.push(child);
    await once(child.stdout, 'data');
    return child;
  }

  async function end(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  /** A driver of a daemon that was just started. */
  function driver(): Driver {
    const unused = (): never => {
      throw new Error('not called by a release');
    };
    return createBlockDriver({
      ...{ name: 'cloud', parameters: [], create: unused, observe: unused, delete: unused },
      attach: unused,
      devicePath: () => Promise.resolve(undefined),
      detach: () => {
        detached += 1;
        return Promise.resolve();
      },
    });
  }

  async function release(by = driver()): Promise<string> {
    const volume = { uid: 'v', name: 'v', namespace: 'shop' };
    const operations = memoryOperations();
    const { signal } = new AbortController();
    const call = { ...{ volume, parameters: {}, node: 'here', handle: 'h' }, signal, operations };
    try {
      await by.unmount({ ...call, target });
      await by.detach(call);
      return 'done';
    } catch (error) {
      return String(error);
    }
  }

  const isMounted = async (): Promise<boolean> =>
    (await readMountTable()).some((entry) => entry.target === target);

  for (const [when, isEarlier] of [
    ['before the mount', true],
    ['after it', false],
  ] as const)
    it(`ends the mount of a slave that began ${when}, and detaches`, async () => {
      if (isEarlier) await unshared('slave');
      execFileSync('mount', [device, target]);
      if (!isEarlier) await unshared('slave');
      await unshared('shared');
      await unshared('slave', `mount --make-private ${target}`);
      expect(await release()).to.equal('done');
      expect(detached).to.equal(1);
      expect(await thisNode.hasFileSystem(device)).to.equal(false);
    });

  for (const [what, propagation, prepare] of [
    ['a private one', 'private', ':'],
    [
      'a slave that has it in another place',
      'slave',
      'mkdir -p PLACE && mount --bind TARGET PLACE',
    ],
    [
      'a slave that has another mount on it',
      'slave',
      'mkdir -p TARGET/x && mount -t tmpfs x TARGET/x',
    ],
  ] as const)
    it(`keeps the mount and the device while another namespace has it: ${what}`, async () => {
      execFileSync('mount', [device, target]);
      await unshared('slave');
      const place = join(folder, 'place');
      const held = await unshared(
        propagation,
        prepare.replaceAll('TARGET', target).replaceAll('PLACE', place),
      );
      for (const attempt of ['first', 'restarted'])
        expect(await release(), attempt).to.contain(`held by pid ${held.pid}`);
      expect(await isMounted()).to.equal(true);
      expect(detached).to.equal(0);
      await end(held);
      expect(await release()).to.equal('done');
      expect(detached).to.equal(1);
      expect(await thisNode.hasFileSystem(device)).to.equal(false);
    });

  it('finds, after a restart, a namespace that kept the mount while it ended here', async () => {
    execFileSync('mount', [device, target]);
    const held = await unshared('private');
    execFileSync('umount', [target]);
    expect(await release()).to.contain(`held by pid ${held.pid}`);
    expect((await stat(target)).isDirectory()).to.equal(true);
    expect(await thisNode.hasFileSystem(device)).to.equal(true);
    await end(held);
    expect(await release()).to.equal('done');
  });

  it('detaches nothing under a mount of a user namespace, whether the kernel ends it or not', async () => {
    execFileSync('mount', [device, target]);
    const program = ['sh', '-c', 'echo on; read end'];
    const asUser = ['--user', '--map-root-user', '--mount', '--propagation', 'slave', ...program];
    const child = spawn('unshare', asUser, { stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(child);
    await once(child.stdout, 'data');
    const by = driver();
    const first = await release(by);
    if (first !== 'done') {
      // Like a private one, also after a restart.
      expect(first).to.contain('is in use');
      expect(await release(by)).to.contain('is in use');
      expect(await release()).to.contain('is in use');
      expect(detached).to.equal(0);
      await end(child);
      expect(await release(by)).to.equal('done');
    }
    expect(await thisNode.hasFileSystem(device)).to.equal(false);
  });
});
