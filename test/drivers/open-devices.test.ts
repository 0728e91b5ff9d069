import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import {
  DriverError,
  memoryOperations,
  type SynchronousDriver,
  synchronousDriver,
} from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { cleanUp, requireDevices } from './devices.js';

const { signal } = new AbortController();

describe('the loop device of an image that a process has open', function () {
  this.timeout(180_000);
  let folder: string;
  let driver: SynchronousDriver;
  let reader: ChildProcess | undefined;

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-open-'));
    const settings = { localVolumeRoot: folder, hostPathAllowlist: [], allowCreateMissing: false };
    const local = await builtinDrivers(settings).get('local');
    driver = synchronousDriver(local!, () => Promise.resolve());
  });
  afterEach(async () => {
    await endReader();
    await cleanUp(folder);
  });

  async function openAndHold(device: string): Promise<void> {
    reader = spawn('sh', ['-c', 'exec 3<"$0"; echo; read line', device], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(reader.stdout!, 'data');
  }

  async function endReader(): Promise<void> {
    if (!reader || reader.exitCode !== null || reader.signalCode !== null) return;
    const gone = once(reader, 'exit');
    reader.kill('SIGKILL');
    await gone;
  }

  async function made(uid = '11111111-2222-4333-8444-555555555555') {
    const volume = { uid, name: 'v', namespace: 'default' };
    const parameters = { backing: 'image', fsType: 'ext4' };
    const call = { volume, parameters, node: 'n', signal, operations: memoryOperations() };
    const size = 16n * 1024n * 1024n;
    const request = {
      ...call,
      sizeBytes: size,
      accessMode: 'ReadWriteOnce',
      topology: {},
    } as const;
    return { ...call, handle: (await driver.provision(request)).handle };
  }

  const refusal = async (work: Promise<unknown>): Promise<DriverError> => {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(DriverError);
    return error as DriverError;
  };
  const loops = (): string =>
    execFileSync('losetup', ['-n', '-O', 'BACK-FILE'], { encoding: 'utf8' });

  it('is not detached before it is closed, and is not attached while it is being detached', async () => {
    const volume = await made();
    const { devicePath } = await driver.attach(volume);
    await openAndHold(devicePath);
    for (const call of [() => driver.detach(volume), () => driver.attach(volume)]) {
      const { kind, message } = await refusal(call());
      expect(kind).to.equal('InUse');
      expect(message).to.contain(`lsof ${devicePath}`);
    }
    await endReader();
    await driver.detach(volume);
    expect(loops()).not.to.contain(folder);
    await driver.attach(volume);
    await driver.detach(volume);
  });

  it('gets a new device if the old one is closed during the attach', async () => {
    const volume = await made();
    const { devicePath } = await driver.attach(volume);
    await openAndHold(devicePath);
    await refusal(driver.detach(volume));
    const attached = driver.attach(volume);
    await pause(300);
    await endReader();
    const { devicePath: now } = await attached;
    const file = execFileSync('losetup', ['-n', '-O', 'BACK-FILE', now], { encoding: 'utf8' });
    expect(file.trim()).to.equal(volume.handle);
    await driver.detach(volume);
  });

  it('is not mounted if it has the image of another volume', async () => {
    const volume = await made();
    const { devicePath } = await driver.attach(volume);
    await driver.detach(volume);
    // The kernel gives the first free device, and others may become free meanwhile.
    const others: Awaited<ReturnType<typeof made>>[] = [];
    for (let attached = ''; attached !== devicePath; ) {
      const other = await made(`22222222-2222-4333-8444-55555555555${others.length}`);
      others.push(other);
      attached = (await driver.attach(other)).devicePath;
    }
    const target = join(folder, 'mounts', 'v');
    const mount = { ...volume, devicePath, target, readOnly: false, mayFormat: false };
    const { kind, message } = await refusal(driver.mount(mount));
    expect(kind).to.equal('Unavailable');
    expect(message).to.contain(devicePath).and.contain(volume.handle);
    for (const other of others) await driver.detach(other);
  });
});
