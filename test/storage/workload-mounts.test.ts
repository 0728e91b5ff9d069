import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { type MountEntry, parseMountTable } from '@kedge/driver-sdk';
import { ProcessRuntime, type WorkloadMount } from '@kedge/controllers';
import { root } from '../acceptance/daemon.js';
import { cleanUp, requireDevices } from '../drivers/devices.js';
import type { RunnerOrder } from './workload-runner.js';

const runner = fileURLToPath(new URL('workload-runner.js', import.meta.url));
const id = '0f6cbd92-1c31-4a3a-9c0e-333333333333';
const nobody = 65534;

/** A file system on a loop device, mounted until it is unmounted. */
interface Disk {
  readonly target: string;
  readonly device: string;
  readonly image: string;
}

describe('the mounts of a workload', function () {
  this.timeout(180_000);
  let base: string;
  let daemon: ChildProcess | undefined;
  let adopted: ProcessRuntime;

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    // A directory without write permission for ordinary users, like those of a machine's disks.
    base = await mkdtemp('/srv/kedge-workload-mounts-');
    await chmod(base, 0o755);
    for (const name of ['data', 'data/mounts', 'images']) await mkdir(join(base, name));
    adopted = new ProcessRuntime({
      directory: join(base, 'data/instances'),
      hiddenDirectories: [join(base, 'data')],
      clock: systemClock,
    });
  });
  afterEach(async () => {
    await adopted.stop(id, 0);
    adopted.close();
    await killDaemon();
    await cleanUp(base);
  });

  async function killDaemon(): Promise<void> {
    if (!daemon || daemon.exitCode !== null || daemon.signalCode !== null) return;
    const gone = new Promise((resolve) => daemon?.once('exit', resolve));
    daemon.kill('SIGKILL');
    await gone;
  }

  async function mountDisk(target: string): Promise<Disk> {
    const image = join(base, 'images', basename(target));
    execFileSync('truncate', ['-s', '16M', image]);
    execFileSync('mkfs.ext4', ['-q', image]);
    await mkdir(target, { recursive: true });
    const args = ['--find', '--show', image];
    const device = execFileSync('losetup', args, { encoding: 'utf8' }).trim();
    execFileSync('mount', [device, target]);
    await writeFile(join(target, 'file'), basename(target));
    return { target, device, image };
  }

  /** Unmounts it and detaches its device; throws unless the kernel has released both. */
  async function unmountDisk({ target, device, image }: Disk): Promise<void> {
    execFileSync('umount', [target]);
    const kernels = join('/sys/fs/ext4', basename(device));
    // A process of another test may have started with a copy of the mount, and ends soon.
    await eventually(`${target} to be mounted in no mount namespace`, async () => {
      const here = await stat(kernels).catch(() => undefined);
      return here === undefined;
    });
    execFileSync('losetup', ['--detach', device]);
    // Another test may have the device open for a moment, or attach it to a file of its own.
    await eventually(`${device} to be detached from ${image}`, () => {
      const args = ['--noheadings', '--output', 'NAME', '--associated', image];
      return execFileSync('losetup', args, { encoding: 'utf8' }).trim() === '';
    });
  }

  const mountsOf = async (pid: number): Promise<readonly MountEntry[]> =>
    parseMountTable(await readFile(`/proc/${pid}/mountinfo`, 'utf8'));
  /** The path of one of the disks in the workload. */
  const placesOf = async (pid: number, ...disks: readonly Disk[]): Promise<readonly string[]> =>
    (await mountsOf(pid))
      .filter(({ source }) => disks.some(({ device }) => device === source))
      .map(({ target }) => target);

  /** Starts a workload in a separate process, and waits until its command runs. */
  async function start(
    uid: number,
    mounts: readonly WorkloadMount[],
    more: Partial<RunnerOrder & { readonly workingDir: string }> = {},
  ): Promise<number> {
    const { workingDir = '/', ...order } = more;
    await chown(join(base, 'data'), uid, uid);
    const command = ['/bin/sh', '-c', 'echo up; exec sleep 600'];
    const spec = { id, command, env: {}, workingDir, mounts };
    const whole: RunnerOrder = {
      directory: join(base, 'data/instances'),
      hiddenDirectories: [join(base, 'data')],
      spec,
      ...order,
    };
    const as = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--'];
    daemon = spawn('setpriv', [...as, process.execPath, runner, JSON.stringify(whole)], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const pid = await new Promise<number>((resolve, reject) => {
      daemon?.stdout?.once('data', (data) => resolve(Number(String(data))));
      daemon?.once('exit', () => reject(new Error('the daemon ended')));
    });
    await eventually('the command', async () =>
      (await readFile(adopted.logFile(id), 'utf8')).includes('up\n'),
    );
    return pid;
  }

  async function inWorkload(command: readonly string[]): Promise<string> {
    const process = await adopted.exec(id, { command, terminal: undefined });
    process.closeInput();
    let text = '';
    for await (const { data } of process.output) text += data.toString();
    await process.exited;
    return text;
  }

  for (const [who, uid] of [
    ['root', 0],
    ['an ordinary user', nobody],
  ] as const)
    it(`of ${who} are separate: other volumes and disks can be unmounted while it runs, also after kill -9`, async () => {
      const volume = await mountDisk(join(base, 'data/mounts/other'));
      const disk = await mountDisk(join(base, 'disk'));
      const own = await mountDisk(join(base, 'own'));
      const pid = await start(uid, [{ source: own.target, target: '/vol/own', readOnly: false }]);
      expect(await placesOf(pid, volume, disk)).to.deep.equal([]);
      expect(await placesOf(pid, own)).to.deep.equal(['/vol/own']);
      await unmountDisk(volume);
      await killDaemon();
      expect(await adopted.observe(id)).to.include({ state: 'running', pid });
      await unmountDisk(disk);
      const later = await mountDisk(join(base, 'data/mounts/later'));
      expect(await placesOf(pid, later)).to.deep.equal([]);
      await unmountDisk(later);
      expect(await inWorkload(['cat', '/vol/own/file'])).to.equal('own');
      expect(() => execFileSync('umount', [own.target])).not.to.throw();
      expect(await inWorkload(['cat', '/vol/own/file'])).to.equal('own');
    });

  it('include the mount of its working directory, and no other', async () => {
    const needed = await mountDisk(join(base, 'needed'));
    const other = await mountDisk(join(base, 'a b'));
    const pid = await start(0, [], { workingDir: needed.target });
    expect(await inWorkload(['cat', 'file'])).to.equal('needed');
    expect(await placesOf(pid, needed, other)).to.deep.equal([needed.target]);
    await unmountDisk(other);
  });

  for (const [who, uid] of [
    ['root', 0],
    ['an ordinary user', nobody],
  ] as const)
    it(`of ${who} show all entries beside the mount point of a volume, regardless of their names`, async () => {
      const shown = join(base, 'shown');
      const names = ['a b', 'tab\tb', 'line\nb', 'back\\040b', '#b', '*', '-n', '.hidden', '$b'];
      for (const name of names) {
        await mkdir(join(shown, name), { recursive: true });
        await writeFile(join(shown, name, 'within'), name);
        await writeFile(join(shown, `file ${name}`), name);
        await symlink(name, join(shown, `link ${name}`));
      }
      const expected = (await readdir(shown)).flatMap((name) =>
        names.includes(name) ? [name, `${name}/within`] : [name],
      );
      const source = join(base, 'source');
      await mkdir(source);
      await start(uid, [{ source, target: join(shown, 'made/deep'), readOnly: false }]);
      const found = await inWorkload(['find', shown, '-mindepth', '1', '-printf', '%P\\0']);
      const all = found.split('\0').filter((name) => name !== '');
      expect(all).to.have.members([...expected, 'made', 'made/deep']);
      const texts = await inWorkload(['sh', '-c', `cd ${shown} && cat ./file* ./link*/within`]);
      expect(texts).to.have.length(names.join('').length * 2);
      expect(await readdir(shown)).not.to.include('made');
    });

  it('of an ordinary user may include a mount below their directory, which ends with that of the host', async () => {
    const home = join(base, 'home');
    await mkdir(home);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `uid=${nobody}`, 'home', home]);
    execFileSync('mount', ['--make-shared', home]);
    const disk = await mountDisk(join(home, 'disk'));
    const pid = await start(nobody, [], { workingDir: home });
    expect(await placesOf(pid, disk)).to.deep.equal([disk.target]);
    await unmountDisk(disk);
  });

  it('are unchanged for a supervisor of an earlier release', async () => {
    const own = await mountDisk(join(base, 'own'));
    const pid = await start(0, [{ source: own.target, target: '/vol/own', readOnly: false }], {
      supervisor: join(root, 'test/fixtures/earlier-supervisor/supervise.sh'),
    });
    await killDaemon();
    expect(await adopted.observe(id)).to.include({ state: 'running', pid });
    expect(await inWorkload(['cat', '/vol/own/file'])).to.equal('own');
    await adopted.stop(id, 0);
    await unmountDisk(own);
  });
});
