import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import {
  type Holders,
  joinHolders,
  nodeHolders,
  requireUnused,
  thisNode,
  unmountTarget,
} from '@kedge/driver-sdk';
import { cleanUp, requireDevices } from './devices.js';

describe('the holders of a volume on real devices', function () {
  this.timeout(180_000);
  const { signal } = new AbortController();
  let folder: string;
  let directory: string;
  let device: string;
  let child: ChildProcess | undefined;
  /** Loop devices over the volume or its files that are still attached, oldest first. */
  let loops: string[];

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    loops = [];
    folder = await mkdtemp(join(tmpdir(), 'kedge-holders-'));
    directory = join(folder, 'volume');
    await mkdir(directory);
    device = loopOver(await imageAt(join(folder, 'image')));
  });
  afterEach(async () => {
    await endChild();
    // After a failure they hold the volume.
    for (const loop of [...loops].reverse()) detachLoop(loop);
    await cleanUp(folder);
  });

  async function imageAt(path: string): Promise<string> {
    await writeFile(path, '');
    execFileSync('truncate', ['-s', '16M', path]);
    return path;
  }

  function loopOver(path: string): string {
    return execFileSync('losetup', ['--find', '--show', path], { encoding: 'utf8' }).trim();
  }

  /** As {@link loopOver}. The loop device is detached after the test, also if the test fails. */
  function loopOnVolume(path: string): string {
    const loop = loopOver(path);
    loops.push(loop);
    return loop;
  }

  function detachLoop(loop: string): void {
    // Removed first: another program may have the number by the end of the test.
    loops = loops.filter((each) => each !== loop);
    execFileSync('losetup', ['--detach', loop]);
  }

  function mountVolume(): void {
    execFileSync('mkfs.ext4', ['-q', device]);
    execFileSync('mount', [device, directory]);
  }

  /** A process that runs until the test ends it. */
  async function hold(command: string, args: readonly string[], cwd: string): Promise<number> {
    child = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'inherit'] });
    await new Promise((resolve) => child?.stdout?.once('data', resolve));
    return child.pid ?? 0;
  }

  async function endChild(): Promise<void> {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child?.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }

  const refusal = (work: Promise<void>): Promise<string> =>
    work.then(
      () => 'done',
      (error: Error) => error.message,
    );
  const unmount = (holders: Holders = nodeHolders): Promise<string> =>
    refusal(unmountTarget(directory, signal, { ...thisNode, holders }, device));
  const detach = (holders: Holders = nodeHolders): Promise<string> =>
    refusal(requireUnused(device, { ...thisNode, holders }));

  it('a process in its directory is named by an unmount, with the remedy', async () => {
    mountVolume();
    const pid = await hold('sh', ['-c', 'echo; read line'], directory);
    expect(await unmount()).to.equal(
      `${directory} is busy, held by pid ${pid} (sh); end process ${pid}; it stays attached until it is released`,
    );
    await endChild();
    expect(await unmount()).to.equal('done');
  });

  it('a process with it in another mount namespace is named by unmount and detach', async () => {
    mountVolume();
    const pid = await hold('unshare', ['--mount', 'sh', '-c', 'echo; read line'], '/');
    const message = `${device} is in use, held by pid ${pid} (sh), which has it mounted at ${directory} in another mount namespace; restart the workload of process ${pid}, or end the process; it stays attached until it is released`;
    expect(await unmount()).to.equal(message);
    expect(await detach()).to.equal(message);
    await endChild();
    await eventually('the namespace to go', async () => (await detach()) === 'done');
    expect(await unmount()).to.equal('done');
  });

  it('a visible mount is named by a detach, one below the directory by an unmount', async () => {
    mountVolume();
    const message = await detach();
    expect(message).to.contain(`held by a mount at ${directory}`);
    expect(message).to.contain(`unmount it (umount ${directory})`);
    const below = join(directory, 'below');
    await mkdir(below);
    execFileSync('mount', ['-t', 'tmpfs', 'below', below]);
    expect(await unmount()).to.contain(`held by a mount at ${below}; unmount it (umount ${below})`);
    execFileSync('umount', [below]);
    expect(await unmount()).to.equal('done');
  });

  it('a loop device over it or over one of its files is named', async () => {
    const over = loopOnVolume(device);
    const way = (name: string): string =>
      `held by device ${name}; detach that device (losetup --detach ${name})`;
    expect(await detach()).to.contain(way(over));
    detachLoop(over);
    expect(await detach()).to.equal('done');
    mountVolume();
    const inside = loopOnVolume(await imageAt(join(directory, 'image')));
    expect(await unmount()).to.contain(way(inside));
    detachLoop(inside);
    expect(await unmount()).to.equal('done');
  });

  it('swap on it is named', async () => {
    execFileSync('mkswap', [device], { stdio: 'ignore' });
    execFileSync('swapon', [device]);
    try {
      expect(await detach()).to.contain(
        `held by swap on ${device}; turn it off (swapoff ${device})`,
      );
    } finally {
      execFileSync('swapoff', [device]);
    }
    expect(await detach()).to.equal('done');
  });

  it('a holder from a further source also refuses the detach', async () => {
    let running = true;
    const containers: Holders = {
      holders: (volume) =>
        Promise.resolve(
          running && volume.device === device
            ? [{ type: 'other', name: 'container web', remedy: 'stop it (docker stop web)' }]
            : [],
        ),
    };
    const all = joinHolders(nodeHolders, containers);
    expect(await detach(all)).to.contain('held by container web; stop it (docker stop web)');
    running = false;
    expect(await detach(all)).to.equal('done');
  });
});
