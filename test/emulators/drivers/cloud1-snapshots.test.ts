import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Driver } from '@kedge/driver-sdk';
import { EmulatedCloud, testToken } from '../sweep/emulated-cloud.js';
import { CalledDriver, refusalOf } from './called-driver.js';

const snapshot = { uid: 'snap-1', name: 's', namespace: 'shop' };

describe('snapshots of cloud1-volume', () => {
  let folder: string;
  let cloud: EmulatedCloud;
  let driver: Driver;
  const volume = (uid: string): CalledDriver => new CalledDriver(cloud, driver, uid);
  const snapshots = async (): Promise<readonly string[]> =>
    (await cloud.emulator.inventory()).filter((one) => one.startsWith('snapshot '));
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-snapshots-'));
    cloud = new EmulatedCloud('cloud1', folder, { actionMs: 0 });
    driver = await cloud.driver();
  });
  afterEach(async () => {
    await cloud.emulator.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('a volume grows, and a snapshot is restored at its size before it grows', async () => {
    const one = volume('uid-1');
    await one.provision();
    await one.expand(3n);
    const taken = await cloud.over(() => driver.createSnapshot({ ...one.request(), snapshot }));
    expect(taken).to.include({ restoreSizeBytes: 3n * 1024n ** 3n, ready: true });
    const restore = {
      ...volume('uid-2').request(),
      sizeBytes: 5n * 1024n ** 3n,
      topology: {},
      accessMode: 'ReadWriteOnce',
      snapshot: { ...snapshot, handle: taken.handle },
    } as const;
    const { sizeBytes } = await cloud.over(() => driver.restore(restore));
    expect(sizeBytes).to.equal(5n * 1024n ** 3n);
    const posted = cloud.emulator.requests.filter(({ method }) => method === 'POST');
    expect(posted.slice(-2).map(({ body }) => JSON.parse(body) as unknown)).to.deep.equal([
      {
        name: 'kedge-uid-2',
        region: 'fra1',
        description: 'kedge cluster=cluster-1 volume=uid-2 name=shop/data',
        snapshot_id: taken.handle,
        size_gigabytes: 3,
      },
      { type: 'resize', size_gigabytes: 5, region: 'fra1' },
    ]);
    const elsewhere = { ...restore, parameters: { region: 'nyc3', apiToken: testToken } };
    const { message } = await refusalOf(
      driver.restore({ ...elsewhere, volume: volume('uid-3').request().volume }),
    );
    expect(message).to.contain('is in region fra1; restore it with a class of that region');
  });

  it('a snapshot whose answer was lost is deleted with its object, also when its volume is gone', async () => {
    const one = volume('uid-1');
    await one.provision();
    cloud.emulator.faults.add({
      on: 'POST /v2/volumes/*/snapshots',
      fault: { type: 'lostReply' },
    });
    await refusalOf(driver.createSnapshot({ ...one.request(), snapshot }));
    await driver.deleteSnapshot({ ...one.request(), snapshot, handle: undefined });
    expect(await snapshots()).to.deep.equal([]);
    await cloud.over(() => driver.createSnapshot({ ...one.request(), snapshot }));
    expect(await snapshots()).to.have.length(1);
    await one.delete();
    await driver.deleteSnapshot({ ...one.request(), snapshot, handle: undefined });
    expect(await snapshots()).to.deep.equal([]);
  });

  it('snapshots and volumes with other names are refused with the name that they need', async () => {
    const one = volume('uid-1');
    await one.provision();
    const { handle } = await cloud.over(() =>
      driver.createSnapshot({ ...one.request(), snapshot }),
    );
    const ofOther = { ...one.request(), handle, snapshot: { ...snapshot, uid: 'snap-2' } };
    expect((await refusalOf(driver.observeSnapshot(ofOther))).message).to.contain(
      'it does not belong to the snapshot with uid snap-2; if it was renamed, give it the name kedge-snap-2 again',
    );
    const other = { ...volume('uid-2').request(), handle: one.handle };
    expect((await refusalOf(driver.observe(other))).message).to.contain(
      'uid uid-2; if it was renamed, give it the name kedge-uid-2 again',
    );
  });
});
