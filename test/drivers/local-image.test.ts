import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, open, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { retriedInUse } from '@kedge/driver-sdk/conformance';
import { eventually } from 'kedge/testing';
import {
  memoryOperations,
  type SynchronousDriver,
  synchronousDriver,
  type VolumeIdentity,
} from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { cleanUp, requireDevices } from './devices.js';

const mebibyte = 1024n * 1024n;
const { signal } = new AbortController();

describe('driver local on real file systems', function () {
  this.timeout(180_000);
  let folder: string;

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-local-'));
  });
  afterEach(() => cleanUp(folder));

  async function driverIn(root: string): Promise<SynchronousDriver> {
    const settings = { localVolumeRoot: root, hostPathAllowlist: [], allowCreateMissing: false };
    const driver = (await builtinDrivers(settings).get('local'))!;
    return synchronousDriver(driver, () => Promise.resolve());
  }
  const identity = (): VolumeIdentity => ({ uid: randomUUID(), name: 'v', namespace: 'default' });
  const call = (volume: VolumeIdentity, parameters: Record<string, string>) => ({
    volume,
    parameters,
    node: 'n',
    signal,
    operations: memoryOperations(),
  });

  async function mounted(
    driver: SynchronousDriver,
    volume: VolumeIdentity,
    parameters: Record<string, string>,
  ) {
    const wanted = {
      sizeBytes: 320n * mebibyte,
      accessMode: 'ReadWriteOnce',
      topology: {},
    } as const;
    const { handle } = await driver.provision({ ...call(volume, parameters), ...wanted });
    const context = { ...call(volume, parameters), handle };
    const { devicePath } = await retriedInUse(() => driver.attach(context));
    const target = join(folder, 'mounts', volume.uid);
    await retriedInUse(() =>
      driver.mount({ ...context, devicePath, target, readOnly: false, mayFormat: false }),
    );
    return { context, target, handle };
  }
  async function away(
    driver: SynchronousDriver,
    { context, target }: Awaited<ReturnType<typeof mounted>>,
  ) {
    await driver.unmount({ ...context, target });
    await retriedInUse(() => driver.detach(context));
  }

  for (const fsType of ['ext4', 'xfs'])
    it(`${fsType} image: the size is enforced; a snapshot under writes is of one point in time`, async () => {
      const driver = await driverIn(join(folder, 'root'));
      const parameters = { backing: 'image', fsType };
      const volume = await mounted(driver, identity(), parameters);
      const file = await open(join(volume.target, 'big'), 'w');
      const chunk = Buffer.alloc(16 * 1024 * 1024, 1);
      const full = await (async () => {
        for (let n = 0; n < 40; n += 1) await file.write(chunk);
      })().catch((error: NodeJS.ErrnoException) => error.code);
      await file.truncate(0);
      await file.close();
      expect(full).to.equal('ENOSPC');
      // Pairs of files that must agree at any point in time: the second follows the first.
      const script = `n=0; while :; do n=$((n+1)); echo $n > ${volume.target}/a; echo $n > ${volume.target}/b; done`;
      const writer = spawn('sh', ['-c', script]);
      await eventually(
        'writes',
        async () => Number(await readFile(join(volume.target, 'b'), 'utf8').catch(() => '0')) > 100,
      );
      const snapshot = { uid: randomUUID(), name: 's', namespace: 'default' };
      const made = await driver.createSnapshot({ ...volume.context, snapshot });
      writer.kill('SIGKILL');
      await new Promise((resolve) => writer.once('exit', resolve));
      // A frozen ext4 is clean; xfs keeps a record of open files in its log.
      if (fsType === 'ext4') execFileSync('e2fsck', ['-fn', made.handle], { stdio: 'pipe' });
      await away(driver, volume);
      const restored = identity();
      await driver.restore({
        ...call(restored, parameters),
        sizeBytes: 640n * mebibyte,
        accessMode: 'ReadWriteOnce',
        topology: {},
        snapshot: { ...snapshot, handle: made.handle },
      });
      const copy = await mounted(driver, restored, parameters);
      const [a, b] = await Promise.all(
        ['a', 'b'].map(async (name) => Number(await readFile(join(copy.target, name), 'utf8'))),
      );
      // Between truncation and write the file is empty, which reads as 0.
      if (a !== 0) expect([0, a!, a! - 1]).to.include(b);
      await away(driver, copy);
    });

  it('snapshots share blocks if the file system supports it', async () => {
    const image = join(folder, 'xfs.img');
    await writeFile(image, '');
    execFileSync('truncate', ['-s', '512M', image]);
    execFileSync('mkfs.xfs', ['-q', image]);
    const root = join(folder, 'xfs');
    await mkdir(root);
    execFileSync('mount', ['-o', 'loop', image, root]);
    const used = (): number => {
      execFileSync('sync', ['-f', root]);
      const out = execFileSync('df', ['-B1M', '--output=used', root], { encoding: 'utf8' });
      return Number(out.split('\n')[1]);
    };
    const driver = await driverIn(join(root, 'volumes'));
    const volume = identity();
    const wanted = { sizeBytes: mebibyte, accessMode: 'ReadWriteOnce', topology: {} } as const;
    const { handle } = await driver.provision({ ...call(volume, {}), ...wanted });
    await writeFile(join(handle, 'data'), Buffer.alloc(100 * 1024 * 1024, 7));
    const before = used();
    const snapshot = { uid: randomUUID(), name: 's', namespace: 'default' };
    const made = await driver.createSnapshot({ ...call(volume, {}), handle, snapshot });
    expect(used() - before, 'MiB more').to.be.lessThan(10);
    await writeFile(join(handle, 'data'), 'changed');
    expect((await readFile(join(made.handle, 'data'))).length).to.equal(100 * 1024 * 1024);
  });

  for (const backing of ['directory', 'image'])
    it(`a full disk is reported as such, with the remedy: backing ${backing}`, async () => {
      const image = join(folder, 'small.img');
      await writeFile(image, '');
      execFileSync('truncate', ['-s', '8M', image]);
      execFileSync('mkfs.ext4', ['-q', '-N', '16', image]);
      const root = join(folder, 'small');
      await mkdir(root);
      execFileSync('mount', ['-o', 'loop', image, root]);
      const driver = await driverIn(root);
      const fill = async (): Promise<void> => {
        const file = await open(join(root, 'full'), 'w');
        try {
          for (;;) await file.write(Buffer.alloc(64 * 1024, 1));
        } catch {
          await file.close();
        }
      };
      await fill();
      // A directory needs an inode, an image needs blocks.
      for (let n = 0; n < 16; n += 1)
        await writeFile(join(root, String(n)), '').catch(() => undefined);
      const wanted = {
        sizeBytes: 4n * mebibyte,
        accessMode: 'ReadWriteOnce',
        topology: {},
      } as const;
      const request = { ...call(identity(), { backing }), ...wanted };
      const error: unknown = await driver.provision(request).catch((thrown: unknown) => thrown);
      expect(error).to.have.property('kind', 'QuotaExceeded');
      expect(error)
        .to.have.property('message')
        .that.contains(root)
        .and.contains('free space on it');
    });
});
