import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  type CallContext,
  DriverError,
  memoryOperations,
  type SynchronousDriver,
  synchronousDriver,
} from '@kedge/driver-sdk';
import { createLocalDriver } from './driver.js';

describe('local driver', () => {
  let base: string;
  let root: string;
  let driver: SynchronousDriver;
  const uid = '0f6cbd92-1c31-4a3a-9c0e-111111111111';
  const context = (id = uid): CallContext => ({
    volume: { uid: id, name: 'data', namespace: 'default' },
    parameters: {},
    node: 'n',
    signal: new AbortController().signal,
    operations: memoryOperations(),
  });
  const wanted = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'kedge-local-'));
    root = join(base, 'volumes');
    driver = synchronousDriver(createLocalDriver({ localVolumeRoot: root }), () =>
      Promise.resolve(),
    );
  });
  afterEach(() => rm(base, { recursive: true }));

  it('provisions the same directory at each repeated call', async () => {
    const first = await driver.provision({ ...context(), ...wanted });
    await writeFile(join(first.handle, 'x'), 'kept');
    const second = await driver.provision({ ...context(), ...wanted });
    expect(second).to.deep.equal(first);
    expect(await readFile(join(first.handle, 'x'), 'utf8')).to.equal('kept');
    expect(await readdir(root)).to.deep.equal([uid]);
  });

  it('validates resolved references like other values, and creates nothing for invalid ones', async () => {
    const parameters = { backing: 'image', fsType: 'btrfs' };
    const refused: unknown = await driver
      .provision({ ...context(), ...wanted, parameters })
      .catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(DriverError).and.have.property('kind', 'InvalidParameters');
    expect(refused).to.have.property('message').that.contains('fsType').and.not.contains('btrfs');
    expect(await readdir(root).catch(() => [])).to.deep.equal([]);
  });

  it('deletes repeatedly, with and without a handle, also a volume that was never created', async () => {
    const { handle } = await driver.provision({ ...context(), ...wanted });
    await writeFile(join(handle, 'x'), '');
    await driver.delete({ ...context(), handle });
    await driver.delete({ ...context(), handle });
    await driver.delete({ ...context(), handle: undefined });
    expect(await readdir(root)).to.deep.equal([]);
  });

  it('finishes a deletion that a crash interrupted after the rename', async () => {
    await driver.provision({ ...context(), ...wanted });
    await rm(join(root, uid), { recursive: true });
    await mkdir(join(root, `.deleting-${uid}`));
    await driver.delete({ ...context(), handle: undefined });
    expect(await readdir(root)).to.deep.equal([]);
  });

  it('never leaves its root, regardless of the handle', async () => {
    const outside = join(base, 'precious');
    await mkdir(outside);
    for (const handle of [outside, '/', `${root}/../precious`, '/etc']) {
      const error = await driver.delete({ ...context(), handle }).catch((e: unknown) => e);
      expect(error).to.be.instanceOf(DriverError);
    }
    expect(await readdir(base)).to.include('precious');
  });

  it('removes links inside a volume, not their targets', async () => {
    const outside = join(base, 'precious');
    await mkdir(outside);
    await writeFile(join(outside, 'x'), '');
    const { handle } = await driver.provision({ ...context(), ...wanted });
    await symlink(outside, join(handle, 'link'));
    await driver.delete({ ...context(), handle });
    expect(await readdir(outside)).to.deep.equal(['x']);
  });

  it('refuses a uid that could be a path', async () => {
    const error = await driver
      .provision({ ...context('../../etc'), ...wanted })
      .catch((e: unknown) => e);
    expect(error).to.be.instanceOf(DriverError);
  });

  it('attach of a volume whose directory was removed is NotFound', async () => {
    const { handle } = await driver.provision({ ...context(), ...wanted });
    await rm(handle, { recursive: true });
    const error = await driver.attach({ ...context(), handle }).catch((e: unknown) => e);
    expect((error as DriverError).kind).to.equal('NotFound');
  });

  it('copies nothing from outside into a snapshot while directories are swapped for links', async function () {
    this.timeout(180_000);
    const { handle } = await driver.provision({ ...context(), ...wanted });
    const outside = join(base, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'kek'), 'key');
    await writeFile(join(handle, 'kept'), 'kept', { mode: 0o640 });
    await link(join(handle, 'kept'), join(handle, 'same'));
    const count = 200;
    for (let n = 0; n < count; n++) {
      await mkdir(join(handle, `a${n}`));
      await symlink(outside, join(handle, `b${n}`));
    }
    // renameat2(2) with RENAME_EXCHANGE: both names always exist.
    const swap = `while (1) { for my $n (0..${count - 1}) { syscall(316, -100, "a$n", -100, "b$n", 2) == 0 or exit 1 } }`;
    const swapper = spawn('perl', ['-e', swap], { cwd: handle, stdio: 'ignore' });
    const snapshot = (n: number) => ({
      ...context(),
      handle,
      snapshot: {
        uid: `0f6cbd92-1c31-4a3a-9c0e-${String(n).padStart(12, '0')}`,
        name: 's',
        namespace: 'default',
      },
    });
    try {
      for (let n = 0; n < 8; n++) {
        // The copy may fail, because the directory changes constantly.
        const made = await driver.createSnapshot(snapshot(n)).catch(() => undefined);
        if (!made) continue;
        const found = await readdir(made.handle, { recursive: true, withFileTypes: true });
        const files = found.filter((entry) => entry.isFile()).map(({ name }) => name);
        expect(files).to.have.members(['kept', 'same']);
      }
    } finally {
      swapper.kill('SIGKILL');
      await once(swapper, 'exit');
    }
    const { handle: copy } = await driver.createSnapshot(snapshot(99));
    const [kept, same] = await Promise.all(['kept', 'same'].map((name) => stat(join(copy, name))));
    expect(kept).to.include({ ino: same?.ino, mode: 0o100640 });
    expect((await stat(copy)).mode).to.equal((await stat(handle)).mode);
    expect((await readdir(copy)).sort()).to.deep.equal((await readdir(handle)).sort());
  });
});
