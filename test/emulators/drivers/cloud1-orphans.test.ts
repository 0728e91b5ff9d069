import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Driver, OrphanListing } from '@kedge/driver-sdk';
import { specifiedScopes } from '../cloud1/machine.js';
import { ask } from '../core/client.js';
import { EmulatedCloud, here, testToken } from '../sweep/emulated-cloud.js';
import { CalledDriver } from './called-driver.js';

const uids = ['0e2c4f9a-7a39-4d1e-9b4b-3f1d2c5e6a70', '1e2c4f9a-7a39-4d1e-9b4b-3f1d2c5e6a71'];
const without = (...scopes: readonly string[]) =>
  specifiedScopes.filter((scope) => !scopes.includes(scope));
const withAll = [...specifiedScopes, 'snapshot:read'];

describe('orphans of cloud1-volume', () => {
  let folder: string;
  let cloud: EmulatedCloud;
  let driver: Driver;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-cloud1-orphans-'));
  });
  beforeEach(async () => {
    const disks = await mkdtemp(join(folder, 'disks-'));
    cloud = new EmulatedCloud('cloud1', disks, { actionMs: 0, volumesMax: 500, perPage: 2 });
    driver = await cloud.driver();
  });
  afterEach(async () => {
    expect(cloud.emulator.violations).to.deep.equal([]);
    await cloud.emulator.close();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const setScopes = (scopes: readonly string[]): void =>
    cloud.emulator.addToken({ name: 'sweep', secret: testToken, scopes });
  /** A volume of a region and its snapshot. */
  const withSnapshot = async (uid: string, region: string): Promise<CalledDriver> => {
    const one = new CalledDriver(cloud, driver, uid, { ...cloud.parameters, region });
    await one.provision();
    const snapshot = { uid: `snap-${region}`, name: 's', namespace: 'shop' };
    await cloud.over(() => driver.createSnapshot({ ...one.request(), snapshot }));
    return one;
  };
  const orphans = (
    region: string,
    { signal = new AbortController().signal, all = false } = {},
  ): Promise<OrphanListing> =>
    cloud.over(() =>
      driver.orphans!({ parameters: { ...cloud.parameters, region }, node: here, signal, all }),
    );
  const snapshotsIn = ({ resources }: OrphanListing) =>
    resources
      .filter(({ type }) => type === 'snapshot')
      .map(({ uid, cluster, topology }) => [uid, cluster, topology?.['svc.io/region']]);
  const requestsSince = (first: number): readonly string[] =>
    cloud.emulator.requests.slice(first).map(({ method, path }) => `${method} ${path}`);

  it('have the snapshots of every region, regardless of the region of the class', async () => {
    await withSnapshot(uids[0]!, 'fra1');
    await withSnapshot(uids[1]!, 'ams3');
    const found = [
      ['snap-fra1', 'cluster-1', 'fra1'],
      ['snap-ams3', 'cluster-1', 'ams3'],
    ];
    for (const scopes of [specifiedScopes, withAll]) {
      setScopes(scopes);
      expect(snapshotsIn(await orphans('nyc3'))).to.have.deep.members(found);
    }
  });

  it('have the snapshots of deleted volumes with scope snapshot:read; without it a warning names the scope', async () => {
    const gone = await withSnapshot(uids[0]!, 'fra1');
    await withSnapshot(uids[1]!, 'ams3');
    await cloud.over(() => gone.driver.delete(gone.request()));
    setScopes(withAll);
    const { warnings, ...listing } = await orphans('fra1');
    expect(snapshotsIn(listing as OrphanListing)).to.have.deep.members([
      ['snap-fra1', undefined, 'fra1'],
      ['snap-ams3', 'cluster-1', 'ams3'],
    ]);
    expect(warnings).to.deep.equal([]);
    setScopes(specifiedScopes);
    const less = await orphans('fra1');
    expect(snapshotsIn(less)).to.deep.equal([['snap-ams3', 'cluster-1', 'ams3']]);
    expect(less.warnings).to.have.length(1);
    expect(less.warnings[0])
      .to.match(
        /^snapshots of deleted volumes and of volumes without the mark of this cluster can't be/,
      )
      .and.contain('scope snapshot:read')
      .and.contain('kedge-');
  });

  it('include volumes of others and their snapshots only if all are requested', async () => {
    const body = { name: 'mine', region: 'fra1', size_gigabytes: 1, description: 'of a person' };
    const call = { call: 'POST /v2/volumes', body, token: testToken };
    const { volume } = (await ask(cloud.emulator, call)).body as { volume: { id: string } };
    const snapshot = { call: `POST /v2/volumes/${volume.id}/snapshots`, body: { name: 'backup' } };
    await ask(cloud.emulator, { ...snapshot, token: testToken });
    for (const scopes of [specifiedScopes, withAll]) {
      setScopes(scopes);
      expect((await orphans('fra1')).resources).to.deep.equal([]);
      const { resources } = await orphans('fra1', { all: true });
      expect(resources.map(({ name }) => name)).to.deep.equal(['mine', 'backup']);
    }
  });

  it('are listed once in a command, though several classes have the token', async () => {
    await withSnapshot(uids[0]!, 'fra1');
    const { signal } = new AbortController();
    const first = cloud.emulator.requests.length;
    const listings = [await orphans('fra1', { signal }), await orphans('nyc3', { signal })];
    expect(listings[1]).to.deep.equal(listings[0]);
    expect(requestsSince(first)).to.have.length(3);
    setScopes(withAll);
    await orphans('fra1');
    expect(requestsSince(first).slice(3)).to.deep.equal(['GET /v2/snapshots', 'GET /v2/volumes']);
  });

  it('without scopes of snapshots have the volumes, and one warning with their number', async () => {
    await withSnapshot(uids[0]!, 'fra1');
    await withSnapshot(uids[1]!, 'ams3');
    setScopes(without('block_storage_snapshot:read'));
    const { resources, warnings } = await orphans('fra1');
    expect(resources.map(({ uid }) => uid)).to.have.members(uids);
    expect(warnings).to.have.length(2);
    expect(warnings[1])
      .to.match(/^the snapshots of 2 volumes were not listed: provider rejected credentials/)
      .and.contain('block_storage_snapshot:read');
  });

  it('ask for the snapshots of at most 100 volumes, and count the others in a warning', async () => {
    for (let n = 0; n < 103; n += 1) {
      const uid = `2e2c4f9a-7a39-4d1e-9b4b-${String(n).padStart(12, '0')}`;
      await new CalledDriver(cloud, driver, uid, cloud.parameters).provision();
    }
    const first = cloud.emulator.requests.length;
    const { resources, warnings } = await orphans('fra1');
    expect(resources).to.have.length(103);
    const asked = requestsSince(first).filter((line) => line.endsWith('/snapshots'));
    expect(asked.filter((line) => line.startsWith('GET /v2/volumes/'))).to.have.length(100);
    expect(warnings[1])
      .to.match(/^the snapshots of 3 volumes were not listed: /)
      .and.contain('snapshot:read');
  });
});
