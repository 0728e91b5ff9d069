import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { cleanUp, requireDevices } from '../../drivers/devices.js';
import { TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';

describe('a storage root on a separate disk', function () {
  this.timeout(180_000);
  let folder: string;
  let device: string;
  let disk: string;
  let daemon: TestDaemon;

  const mount = (): Buffer => execFileSync('mount', [device, disk]);
  const unmount = (): Buffer => execFileSync('umount', ['-l', disk]);

  before(function () {
    requireDevices(this);
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-disk-'));
    const image = join(folder, 'disk.img');
    disk = join(folder, 'disk');
    await mkdir(disk);
    await writeFile(image, '');
    execFileSync('truncate', ['-s', '64M', image]);
    execFileSync('mkfs.ext4', ['-q', image]);
    device = execFileSync('losetup', ['--find', '--show', image], { encoding: 'utf8' }).trim();
    mount();
    daemon = await TestDaemon.start({
      environment: { KEDGE_STORAGE_LOCAL_VOLUME_ROOT: disk },
    });
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'scratch',
      driver: 'local',
      reclaimPolicy: 'delete',
    });
  });
  afterEach(async () => {
    await daemon.dispose();
    await cleanUp(folder);
  });

  const create = (name: string): Promise<unknown> =>
    daemon.ok('POST', `${base}/volumes`, {
      name,
      size: '1Mi',
      accessMode: 'ReadWriteOnce',
      storageClassName: 'scratch',
    });
  interface Shown {
    readonly status: string;
    readonly handle: string;
    readonly conditions: readonly { type: string; status: string; message: string }[];
  }
  const shown = async (name: string): Promise<Shown> =>
    (await daemon.ok('GET', `${base}/volumes/${name}`)) as unknown as Shown;
  const until = (name: string, what: string, holds: (volume: Shown) => boolean): Promise<unknown> =>
    eventually(`${name} ${what}`, async () => holds(await shown(name)), 90_000);
  const rootCondition = (volume: Shown) =>
    volume.conditions.find((condition) => condition.type === 'StorageRootReady');
  const ready = async (): Promise<number> => {
    const { ops } = JSON.parse(
      daemon.log.split('\n').findLast((line) => line.includes('"msg":"ready"')) ?? '',
    ) as { ops: number };
    return (await fetch(`http://127.0.0.1:${ops}/readyz`)).status;
  };

  /** Checks that nothing is created or deleted while the disk is not mounted; then mounts it and checks that work continues. */
  async function heldBack(handle: string): Promise<void> {
    await until('kept', 'reported', (volume) => rootCondition(volume)?.status === 'False');
    const kept = await shown('kept');
    expect(kept.status).to.equal('Available');
    expect(rootCondition(kept)?.message).to.contain(disk).and.contain('Mount it');
    expect(await ready()).to.equal(503);
    await create('late');
    await until('late', 'the reported reason', (volume) =>
      volume.conditions.some((c) => c.type === 'Provisioned' && c.message.includes('Mount it')),
    );
    await daemon.ok('DELETE', `${base}/volumes/leaving`);
    await eventually('the deletion to be attempted', async () => {
      const { lastOperation } = await daemon.ok('GET', `${base}/volumes/leaving`);
      return (lastOperation as { call?: string } | undefined)?.call === 'delete';
    });
    expect(await readdir(disk)).to.deep.equal([]);
    mount();
    await until('late', 'made', (volume) => volume.status === 'Available');
    await eventually('the deletion to be done', async () => {
      const { status } = await daemon.rest('GET', `${base}/volumes/leaving`);
      return status === 404;
    });
    await until('kept', 'recovered', (volume) => rootCondition(volume)?.status === 'True');
    expect(await readFile(join(handle, 'x'), 'utf8')).to.equal('kept');
    expect(await ready()).to.equal(200);
    const uids = [handle, (await shown('late')).handle].map((path) => path.split('/').at(-1));
    const names = await readdir(disk);
    expect(names).to.have.members(['.kedge', 'lost+found', ...uids]);
  }

  async function kept(): Promise<string> {
    for (const name of ['kept', 'leaving']) {
      await create(name);
      await until(name, 'made', (volume) => volume.status === 'Available');
    }
    const { handle } = await shown('kept');
    await writeFile(join(handle, 'x'), 'kept');
    return handle;
  }

  it('unmounted while the daemon runs: nothing is created, lost or deleted, and work continues when it is mounted again', async () => {
    const handle = await kept();
    unmount();
    await heldBack(handle);
  });

  it('not mounted at the start: nothing is created, lost or deleted, and work continues when it is mounted', async () => {
    const handle = await kept();
    await daemon.end('SIGTERM');
    unmount();
    await daemon.run();
    await heldBack(handle);
  });

  it('is refused by a daemon of another cluster', async () => {
    const other = await TestDaemon.start({
      environment: { KEDGE_STORAGE_LOCAL_VOLUME_ROOT: disk },
    });
    try {
      expect(other.log)
        .to.contain("the storage root can't be used")
        .and.contain('belongs to cluster');
    } finally {
      await other.dispose();
    }
  });
});
