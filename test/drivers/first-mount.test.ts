import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { memoryOperations, mountBlockDevice, readMountTable, thisNode } from '@kedge/driver-sdk';
import { eventually } from 'kedge/testing';
import { cleanUp, requireDevices } from './devices.js';

describe('the first mount of a device that something else uses, on real devices', function () {
  this.timeout(180_000);
  let folder: string;
  let root: string;
  let target: string;
  let device: string;
  let children: ChildProcess[];
  let loops: string[];

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    [children, loops] = [[], []];
    folder = await mkdtemp(join(tmpdir(), 'kedge-first-mount-'));
    root = join(folder, 'mounts');
    target = join(root, 'v');
    await mkdir(root);
    const image = join(folder, 'image');
    await writeFile(image, '');
    execFileSync('truncate', ['-s', '400M', image]);
    device = loopOver(image);
  });
  afterEach(async () => {
    for (const child of children) await end(child);
    for (const loop of loops) execFileSync('losetup', ['--detach', loop]);
    await cleanUp(folder);
  });

  function loopOver(path: string): string {
    return execFileSync('losetup', ['--find', '--show', path], { encoding: 'utf8' }).trim();
  }

  /** A process in a mount namespace of its own, which mounts the device there alone. */
  async function mountedElsewhere(at: string): Promise<ChildProcess> {
    const script = `mkdir -p ${at} && mount ${device} ${at} && echo on; read end`;
    const program = ['--mount', '--propagation', 'private', 'sh', '-c', script];
    const child = spawn('unshare', program, { stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(child);
    await once(child.stdout, 'data');
    expect((await readMountTable()).filter((entry) => entry.source === device)).to.deep.equal([]);
    return child;
  }

  async function end(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  /** Ends a process, and waits for the kernel to remove its namespace. */
  async function release(child: ChildProcess): Promise<void> {
    await end(child);
    await eventually('its mounts to end', async () => !(await thisNode.hasFileSystem(device)));
  }

  async function mount(mayFormat = true): Promise<string> {
    try {
      await mountBlockDevice({
        volume: { uid: 'v', name: 'v', namespace: 'shop' },
        ...{ handle: 'v', parameters: { fsType: 'xfs' }, node: 'n', devicePath: device, target },
        ...{ readOnly: false, mayFormat, operations: memoryOperations() },
        signal: new AbortController().signal,
      });
      return 'mounted';
    } catch (error) {
      return String(error);
    }
  }

  for (const fsType of ['ext4', 'xfs'])
    it(`is refused while ${fsType} of it is mounted in another mount namespace alone, and passes after that`, async () => {
      execFileSync(`mkfs.${fsType}`, ['-q', device]);
      const held = await mountedElsewhere(join(folder, 'foreign'));
      const refused = await mount();
      expect(refused).to.contain(`${device} is in use before the first mount of this volume`);
      expect(refused).to.contain(`held by pid ${held.pid} (sh)`);
      await release(held);
      expect(await mount()).to.equal('mounted');
    });

  it('is refused while a loop device is over it, and nothing is formatted', async () => {
    const over = loopOver(device);
    loops.push(over);
    expect(await mount()).to.contain(`held by device ${over}; detach that device`);
    const head = (await readFile(device)).subarray(0, 1024 * 1024);
    expect(head.every((byte) => byte === 0)).to.equal(true);
    execFileSync('losetup', ['--detach', loops.pop() ?? '']);
    expect(await mount()).to.equal('mounted');
  });

  it('is not refused for a copy of the mount of the same volume in another namespace', async () => {
    execFileSync('mkfs.xfs', ['-q', device]);
    await mountedElsewhere(target);
    expect(await mount()).to.equal('mounted');
  });

  it('is refused later only while another volume is mounted from it, also in another namespace alone', async () => {
    execFileSync('mkfs.xfs', ['-q', device]);
    const other = await mountedElsewhere(join(root, 'other'));
    expect(await mount(false)).to.contain(`${join(root, 'other')} in another mount namespace`);
    await release(other);
    await mountedElsewhere(join(folder, 'inspected'));
    expect(await mount(false)).to.equal('mounted');
  });

  for (const [options, refusal] of [
    ['rw', /unmount it there \(umount .*inspected\)/],
    // The kernel has one file system for both mounts. Without a right to read the mount namespace of process 1, it is
    // taken for another one.
    ['ro', /already mounted|busy|is mounted for another volume or user/],
  ] as const)
    it(`is refused later while the device is mounted elsewhere (${options}), and passes after that`, async () => {
      execFileSync('mkfs.xfs', ['-q', device]);
      const inspected = join(folder, 'inspected');
      await mkdir(inspected, { recursive: true });
      execFileSync('mount', ['-o', options, device, inspected]);
      try {
        expect(await mount(false)).to.match(refusal);
      } finally {
        execFileSync('umount', [inspected]);
      }
      expect(await mount(false)).to.equal('mounted');
    });
});
