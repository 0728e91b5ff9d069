import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  DriverError,
  loopsOf,
  memoryOperations,
  type SynchronousDriver,
  synchronousDriver,
  thisNode,
  type VolumeIdentity,
} from '@kedge/driver-sdk';
import { retriedInUse } from '@kedge/driver-sdk/conformance';
import { builtinDrivers } from '@kedge/drivers';
import { cleanUp, requireDevices } from './devices.js';

const mebibyte = 1024n * 1024n;
const { signal } = new AbortController();

describe('images on a faulty disk', function () {
  this.timeout(180_000);
  let folder: string;
  let root: string;
  let driver: SynchronousDriver;

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-disk-'));
    const disk = join(folder, 'disk');
    root = join(disk, 'root');
    await mkdir(disk);
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', disk]);
    const settings = { localVolumeRoot: root, hostPathAllowlist: [], allowCreateMissing: false };
    const local = await builtinDrivers(settings).get('local');
    driver = synchronousDriver(local!, () => Promise.resolve());
  });
  afterEach(() => cleanUp(folder));

  const identity = (): VolumeIdentity => ({ uid: randomUUID(), name: 'v', namespace: 'default' });
  async function made(fsType: string) {
    const volume = identity();
    const parameters = { backing: 'image', fsType };
    const call = { volume, parameters, node: 'n', signal, operations: memoryOperations() };
    const wanted = {
      sizeBytes: 300n * mebibyte,
      accessMode: 'ReadWriteOnce',
      topology: {},
    } as const;
    const { handle } = await driver.provision({ ...call, ...wanted });
    return { ...call, handle, target: join(folder, 'mounts', volume.uid) };
  }
  type Made = Awaited<ReturnType<typeof made>>;
  const mounted = async (volume: Made): Promise<string> => {
    const { devicePath } = await retriedInUse(() => driver.attach(volume));
    const request = { ...volume, devicePath, readOnly: false, mayFormat: false };
    return (await driver.mount(request)).path;
  };
  const away = async (volume: Made): Promise<void> => {
    await driver.unmount(volume);
    await retriedInUse(() => driver.detach(volume));
  };
  const refusal = async (work: Promise<unknown>): Promise<DriverError> => {
    const error: unknown = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(DriverError);
    return error as DriverError;
  };
  const remount = (access: 'ro' | 'rw'): Buffer =>
    execFileSync('mount', ['-o', `remount,${access}`, join(folder, 'disk')]);

  for (const fsType of ['ext4', 'xfs']) {
    it(`${fsType}: a read-only disk is reported as such, and has no effect once it is writable again`, async () => {
      const volume = await made(fsType);
      await writeFile(join(await mounted(volume), 'kept'), 'x');
      await away(volume);
      remount('ro');
      for (let tries = 0; tries < 2; tries += 1) {
        const { kind, message } = await refusal(mounted(volume));
        expect(kind).to.equal('Unavailable');
        expect(message).to.contain(volume.handle).and.contain('read-only');
      }
      expect(await loopsOf(thisNode, volume.handle, signal)).to.deep.equal([]);
      // The form of an earlier release.
      execFileSync('losetup', ['--find', '--read-only', volume.handle]);
      remount('rw');
      const path = await mounted(volume);
      await writeFile(join(path, 'after'), 'written');
      expect(await readFile(join(path, 'kept'), 'utf8')).to.equal('x');
      await away(volume);
    });

    it(`${fsType}: a read-only mount is not used as a writable one`, async () => {
      const volume = await made(fsType);
      const { devicePath } = await retriedInUse(() => driver.attach(volume));
      await driver.mount({ ...volume, devicePath, readOnly: true, mayFormat: false });
      const { kind, message } = await refusal(mounted(volume));
      expect(kind).to.equal('InUse');
      expect(message).to.contain('mounted read-only');
      await away(volume);
    });

    it(`${fsType}: a truncated image is not copied, and the error names the reason`, async () => {
      const volume = await made(fsType);
      execFileSync('truncate', ['-s', '100M', volume.handle]);
      const snapshot = { uid: randomUUID(), name: 's', namespace: 'default' };
      const { kind, message } = await refusal(driver.createSnapshot({ ...volume, snapshot }));
      expect(kind).to.equal('NotFound');
      expect(message).to.contain(volume.handle).and.contain('was truncated');
      expect(await readdir(join(root, 'snapshots'))).to.deep.equal([]);
    });
  }
});
