import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import {
  directoryJournal,
  DriverError,
  memoryOperations,
  loopsOf,
  nodeUndo,
  recoverNode,
  type SynchronousDriver,
  synchronousDriver,
  thawDevice,
  thisNode,
  type VolumeIdentity,
} from '@kedge/driver-sdk';
import { retriedInUse } from '@kedge/driver-sdk/conformance';
import { builtinDrivers } from '@kedge/drivers';
import { eventually } from 'kedge/testing';
import { cleanUp, requireDevices } from './devices.js';

const mebibyte = 1024n * 1024n;
const { signal } = new AbortController();
const parameters = { backing: 'image' };

describe('copies of images', function () {
  this.timeout(180_000);
  let folder: string;
  let root: string;
  let driver: SynchronousDriver;
  let device: string;
  const children: ChildProcess[] = [];

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-copies-'));
    root = join(folder, 'root');
    driver = await newDriver();
  });
  afterEach(async () => {
    // A failed test must not leave hanging writers.
    if (device) await thawDevice(thisNode, device, signal);
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await cleanUp(folder);
  });

  async function newDriver(): Promise<SynchronousDriver> {
    const journal = directoryJournal(join(folder, 'journal'));
    const settings = { hostPathAllowlist: [], allowCreateMissing: false, journal };
    const local = await builtinDrivers({ ...settings, localVolumeRoot: root }).get('local');
    return synchronousDriver(local!, () => Promise.resolve());
  }
  const operations = memoryOperations();
  const call = (volume: VolumeIdentity) => ({ volume, parameters, node: 'n', signal, operations });
  const target = (volume: VolumeIdentity): string => join(folder, 'mounts', volume.uid);

  async function made() {
    const volume = { uid: randomUUID(), name: 'v', namespace: 'default' };
    const wanted = { sizeBytes: 256n * mebibyte, accessMode: 'ReadWriteOnce', topology: {} };
    const { handle } = await driver.provision({ ...call(volume), ...wanted } as never);
    return { ...call(volume), handle };
  }
  async function mounted(context: Awaited<ReturnType<typeof made>>): Promise<string> {
    const { devicePath } = await retriedInUse(() => driver.attach(context));
    device = devicePath;
    const at = target(context.volume);
    const request = { ...context, devicePath, target: at, readOnly: false, mayFormat: false };
    return (await retriedInUse(() => driver.mount(request))).path;
  }
  /** Another program's process that starts at this moment keeps the mount for its lifetime. */
  const unmounted = (context: Awaited<ReturnType<typeof made>>, path: string, by = driver) =>
    eventually('the volume to be unmounted', () =>
      by.unmount({ ...context, target: path }).then(
        () => true,
        () => false,
      ),
    );
  /** Content whose copy takes some time. */
  const fill = async (path: string): Promise<void> => {
    await writeFile(join(path, 'big'), randomBytes(150 * 1024 * 1024));
    execFileSync('sync', ['-f', path]);
  };
  const snapshot = () => ({ uid: randomUUID(), name: 's', namespace: 'default' });
  const begun = (uid: string) =>
    eventually('the copy to begin', async () => {
      const names = await readdir(join(root, 'snapshots')).catch((): string[] => []);
      // A copy with its final name is complete.
      return names.includes(`.making-${uid}.img`) || names.includes(`${uid}.img`);
    });
  const isFrozen = (path: string): boolean => {
    const tried = spawnSync('fsfreeze', ['--freeze', path], { encoding: 'utf8' });
    if (tried.status === 0) execFileSync('fsfreeze', ['--unfreeze', path]);
    return /busy/.test(tried.stderr);
  };
  const check = (image: string): Buffer =>
    execFileSync('e2fsck', ['-fn', image], { stdio: 'pipe' });

  it('an idle image is not attached while it is copied', async () => {
    const volume = await made();
    const path = await mounted(volume);
    await fill(path);
    await unmounted(volume, path);
    await retriedInUse(() => driver.detach(volume));
    const copy = snapshot();
    const other = await newDriver();
    let copied = false;
    const making = driver.createSnapshot({ ...volume, snapshot: copy }).then((result) => {
      copied = true;
      return result;
    });
    await begun(copy.uid);
    const { devicePath } = await retriedInUse(() => other.attach(volume));
    device = devicePath;
    expect(copied, 'the copy was complete before it was attached').to.equal(true);
    check((await making).handle);
    await retriedInUse(() => other.detach(volume));
  });

  for (const [what, spoil, message] of [
    ['emptied', ['truncate', '-s', '0'], 'contains no file system'],
    [
      'zeroed',
      ['dd', 'if=/dev/zero', 'bs=1M', 'count=1', 'conv=notrunc'],
      'contains no file system',
    ],
    ['cut', ['truncate', '-s', '100M'], 'was truncated'],
  ] as const)
    it(`an image that was ${what} is not copied, and the error names the reason`, async () => {
      const volume = await made();
      const [command, ...args] = spoil;
      const last = command === 'dd' ? `of=${volume.handle}` : volume.handle;
      execFileSync(command, [...args, last], { stdio: 'pipe' });
      const copy = snapshot();
      const error: unknown = await driver
        .createSnapshot({ ...volume, snapshot: copy })
        .catch((e: unknown) => e);
      expect(error).to.be.instanceOf(DriverError);
      expect(error).to.include({ kind: 'NotFound' });
      expect(String(error)).to.contain(volume.handle).and.contain(message);
      expect(await readdir(join(root, 'snapshots'))).to.deep.equal([]);
    });

  it('a volume keeps its backing when the parameter changes', async () => {
    const volume = { ...(await made()), parameters: { backing: 'directory' } };
    expect((await driver.observe(volume)).handle).to.equal(volume.handle);
    const copy = snapshot();
    const copied = await driver.createSnapshot({ ...volume, snapshot: copy });
    expect(copied.handle).to.equal(join(root, 'snapshots', `${copy.uid}.img`));
    const larger = 300n * mebibyte;
    expect((await driver.expand({ ...volume, sizeBytes: larger })).sizeBytes).to.equal(larger);
    const path = await mounted(volume);
    await writeFile(join(path, 'kept'), 'x');
    await unmounted(volume, path);
    await retriedInUse(() => driver.detach(volume));
    expect(await loopsOf(thisNode, volume.handle, signal)).to.deep.equal([]);
    await driver.delete(volume);
    expect(await readdir(root)).to.not.include(`${volume.volume.uid}.img`);
  });

  it('a file system that is unmounted here while it is copied is thawed where it is still mounted', async () => {
    const volume = await made();
    const path = await mounted(volume);
    await fill(path);
    const workload = spawn('unshare', ['-m', '--propagation', 'private', 'sleep', '1000']);
    children.push(workload);
    const seen = join('/proc', String(workload.pid), 'root', path);
    await eventually('the workload to have its own namespace', () => {
      const [mine, its] = ['self', String(workload.pid)].map(
        (pid) => spawnSync('readlink', [`/proc/${pid}/ns/mnt`], { encoding: 'utf8' }).stdout,
      );
      return mine !== its;
    });
    const copy = snapshot();
    const making = driver.createSnapshot({ ...volume, snapshot: copy });
    await begun(copy.uid);
    const unmounting = driver.unmount({ ...volume, target: path }).catch(() => undefined);
    execFileSync('umount', ['-l', path]);
    check((await making).handle);
    expect(isFrozen(seen)).to.equal(false);
    await writeFile(join(seen, 'after'), 'written');
    workload.kill('SIGKILL');
    await unmounting;
    await unmounted(volume, path);
    await retriedInUse(() => driver.detach(volume));
  });

  it('a file system is not unmounted before it is thawed', async () => {
    const volume = await made();
    const path = await mounted(volume);
    await fill(path);
    const copy = snapshot();
    const order: string[] = [];
    const making = driver
      .createSnapshot({ ...volume, snapshot: copy })
      .then(({ handle }) => order.push(`copied ${handle}`));
    await begun(copy.uid);
    const other = await newDriver();
    await unmounted(volume, path, other).then(() => order.push('unmounted'));
    await making;
    expect(order[1]).to.equal('unmounted');
    check(order[0]!.slice('copied '.length));
    await retriedInUse(() => other.detach(volume));
  });

  it('a kill of daemon and copier leaves it frozen until the next start', async () => {
    const volume = await made();
    const path = await mounted(volume);
    await fill(path);
    const script = fileURLToPath(new URL('./snapshotting.js', import.meta.url));
    const journal = join(folder, 'journal');
    const { uid } = volume.volume;
    // A copy that was complete before the kill is created again.
    do {
      const copy = snapshot();
      const args = [script, root, journal, uid, volume.handle, copy.uid];
      const daemon = spawn(process.execPath, args, { detached: true, stdio: 'inherit' });
      const ended = new Promise((resolve) => daemon.once('exit', resolve));
      await begun(copy.uid);
      try {
        process.kill(-daemon.pid!, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
      await ended;
    } while (!isFrozen(path));
    const next = directoryJournal(journal);
    const undo = nodeUndo(thisNode, next, signal);
    const thawed = await recoverNode(next, undo, ({ type }) => type !== 'freeze');
    expect(thawed.undone.map(({ type }) => type)).to.deep.equal(['freeze']);
    await writeFile(join(path, 'after'), 'written');
    // The volume is no longer wanted: its mount and loop device are removed, too.
    const rest = await recoverNode(next, undo, () => false);
    expect(rest.undone.map(({ type }) => type)).to.deep.equal(['mount', 'loop']);
    expect(await loopsOf(thisNode, volume.handle, signal)).to.deep.equal([]);
    expect((await next.replay()).states).to.deep.equal([]);
  });

  it('a kill of the daemon alone leaves nothing frozen', async () => {
    const volume = await made();
    const path = await mounted(volume);
    await fill(path);
    const copy = snapshot();
    const script = fileURLToPath(new URL('./snapshotting.js', import.meta.url));
    const args = [
      script,
      root,
      join(folder, 'journal'),
      volume.volume.uid,
      volume.handle,
      copy.uid,
    ];
    const daemon = spawn(process.execPath, args, { stdio: 'inherit' });
    await begun(copy.uid);
    daemon.kill('SIGKILL');
    await eventually('the copier to thaw', () => !isFrozen(path));
    await writeFile(join(path, 'after'), 'written');
    await unmounted(volume, path);
    await retriedInUse(() => driver.detach(volume));
  });

  it('a frozen file system without a mount is thawed', async () => {
    const volume = await made();
    const path = await mounted(volume);
    execFileSync('fsfreeze', ['--freeze', path]);
    execFileSync('umount', ['-l', path]);
    await thawDevice(thisNode, device, signal);
    const again = await mounted(volume);
    expect(isFrozen(again)).to.equal(false);
    await unmounted(volume, again);
    await retriedInUse(() => driver.detach(volume));
  });

  it('a file system whose record of the freeze is damaged is thawed at the next start', async () => {
    const volume = await made();
    const path = await mounted(volume);
    const journal = directoryJournal(join(folder, 'journal'));
    const { uid } = volume.volume;
    await journal.make({ type: 'freeze', uid, device }, () => Promise.resolve());
    for (const name of await readdir(join(folder, 'journal')))
      await writeFile(join(folder, 'journal', name), '');
    execFileSync('fsfreeze', ['--freeze', path]);
    const undo = nodeUndo(thisNode, journal, signal);
    const { undone, damaged } = await recoverNode(journal, undo, ({ type }) => type !== 'freeze');
    expect(undone).to.deep.equal([{ type: 'freeze', uid, device }]);
    expect(damaged).to.deep.equal([]);
    expect(isFrozen(path)).to.equal(false);
    const left = (await journal.replay()).states.map(({ type }) => type);
    expect(left, 'records of existing states').to.deep.equal(['mount', 'loop']);
    await unmounted(volume, path);
    await retriedInUse(() => driver.detach(volume));
  });

  it('an image whose file was removed is unmounted, detached and deleted', async () => {
    const volume = await made();
    const path = await mounted(volume);
    await unlink(volume.handle);
    await unmounted(volume, path);
    await retriedInUse(() => driver.detach(volume));
    await driver.delete(volume);
    expect(await loopsOf(thisNode, volume.handle, signal)).to.deep.equal([]);
    expect((await directoryJournal(join(folder, 'journal')).replay()).states).to.deep.equal([]);
  });
});
