import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect } from 'chai';
import type { Driver } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';
import { CalledDriver, over, refusalOf } from './called-driver.js';
import { Cloud1Double, fiveScopes } from './cloud1-double.js';

const token = 'dop_v1_of-the-driver-test';
const uid = '0e2c4f9a-7a39-4d1e-9b4b-3f1d2c5e6a70';

describe('cloud1-volume', () => {
  let folder: string;
  let cloud: Cloud1Double;
  let driver: Driver;
  const made = async (): Promise<Driver> => {
    const found = await builtinDrivers({
      localVolumeRoot: '/nowhere',
      hostPathAllowlist: [],
      allowCreateMissing: false,
      node: 'worker',
      clusterId: 'cluster-1',
      drivers: {
        'cloud1-volume': {
          endpoint: cloud.endpoint,
          deviceDirectory: join(folder, 'links'),
          timeouts: { requestMs: 500 },
        },
      },
    }).get('cloud1-volume');
    return found!;
  };
  const volume = (of = uid, parameters = { region: 'fra1', apiToken: token }): CalledDriver =>
    new CalledDriver(driver, parameters, of);
  const requests = (): readonly string[] =>
    cloud.received.map(({ method, path }) => `${method} ${path}`);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-cloud1-'));
    cloud = new Cloud1Double(folder);
    cloud.devices = false;
    cloud.actionMs = 0;
    cloud.tokens.set(token, fiveScopes);
    cloud.droplets.set('worker', 11).set('Worker', 13).set('other', 12);
    await cloud.listen();
    driver = await made();
  });
  afterEach(async () => {
    await cloud.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('provisions with two requests, in whole GiB, and marks the volume in its description', async () => {
    const { sizeBytes } = await volume().provision();
    expect(sizeBytes).to.equal(1024n ** 3n);
    expect(requests()).to.deep.equal(['GET /v2/volumes', 'POST /v2/volumes']);
    expect(cloud.received[1]?.body).to.deep.equal({
      name: `kedge-${uid}`,
      region: 'fra1',
      size_gigabytes: 1,
      description: `kedge cluster=cluster-1 volume=${uid} name=shop/data`,
    });
  });

  it('names volumes by their uid alone: lower case, at most 64 characters', async () => {
    for (const odd of ['UPPER', 'a'.repeat(80), 'h-0', 'under_score', 'ends-'])
      await volume(odd).provision();
    const names = [...cloud.volumes.values()].map(({ name }) => name);
    expect(new Set(names).size).to.equal(5);
    for (const name of names) expect(name).to.match(/^[a-z][a-z0-9-]{0,62}[a-z0-9]$/);
  });

  it('a creation whose answer was lost is found, and not made again', async () => {
    const one = volume();
    cloud.play('POST', /volumes$/, {}, { after: true });
    expect((await refusalOf(one.provision())).kind).to.equal('Timeout');
    await one.provision();
    expect(cloud.volumes.size).to.equal(1);
  });

  it('a volume that lists do not show yet is neither created twice nor leaked by its deletion', async () => {
    const one = volume();
    cloud.play('POST', /volumes$/, {}, { after: true });
    await refusalOf(one.provision());
    cloud.lags = true;
    const request = one.request();
    const provision = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
    const again = await driver.provision({ ...request, ...provision });
    expect(again).to.deep.equal({ type: 'pending', pollAfterMs: 5_000 });
    const gone = { ...request, handle: undefined };
    expect(await driver.delete(gone)).to.deep.equal({ type: 'pending', pollAfterMs: 10_000 });
    cloud.lags = false;
    expect(await driver.delete(gone)).to.equal(undefined);
    expect(cloud.volumes.size).to.equal(0);
  });

  it('attach without its scope is refused in the words of the specification (5.3)', async () => {
    const scopes = fiveScopes.filter((scope) => scope !== 'block_storage_action:create');
    cloud.tokens.set(token, scopes);
    const one = volume();
    await one.provision();
    const { kind, message } = await refusalOf(one.attach());
    expect(kind).to.equal('CredentialsRejected');
    expect(message).to.match(
      /^provider rejected credentials: DigitalOcean answered 403: You do not/,
    );
    expect(message).to.contain('attachVolume needs scope block_storage_action:create');
    cloud.tokens.delete(token);
    expect((await refusalOf(one.attach())).message).to.contain('answered 401');
  });

  it('actions that the token does not show end as Timeout, and the next token finds the volume attached', async () => {
    cloud.tokens.set(
      token,
      fiveScopes.filter((scope) => scope !== 'actions:read'),
    );
    cloud.actionMs = 1_500;
    const one = volume();
    await one.provision();
    const { kind, message, operation } = await refusalOf(one.attach());
    expect(kind).to.equal('Timeout');
    expect(message).to.contain('getAction needs scope actions:read');
    expect(operation).to.match(/^\d+$/);
    cloud.volumes.get(one.handle)!.droplet = 11;
    cloud.tokens.set('dop_v1_renewed', fiveScopes);
    await one.attach('worker', { region: 'fra1', apiToken: 'dop_v1_renewed' });
    const actions = requests().filter(
      (line) => line.startsWith('POST') && line.endsWith('actions'),
    );
    expect(actions).to.have.length(1);
  });

  it('a volume that is attached here is attached again without a request, and without a token', async function () {
    if (process.getuid?.() !== 0) this.skip();
    const one = volume();
    await one.provision();
    const link = join(folder, 'links', `scsi-0DO_Volume_kedge-${uid}`);
    await mkdir(join(folder, 'links'));
    // Any block device stands in for the volume's: the driver reads nothing of it here.
    await symlink('/dev/loop0', link);
    cloud.received.length = 0;
    expect(await one.attach('worker', { region: 'fra1' })).to.deep.equal({ devicePath: link });
    expect(cloud.received).to.deep.equal([]);
    await one.operations.set('detach', 'k 7');
    expect((await refusalOf(one.attach('worker', { region: 'fra1' }))).message).to.contain(
      'the class has no token',
    );
    await one.operations.clear('detach');
    expect((await refusalOf(one.attach('other', { region: 'fra1' }))).kind).to.equal(
      'InvalidParameters',
    );
  });

  it('finds the Droplet by its exact name, on every page, and asks for GPU Droplets, too', async () => {
    cloud.droplets.set('wORKER', 14).set('worKER', 15);
    const one = volume();
    await one.provision();
    await one.attach();
    expect(cloud.volumes.get(one.handle)?.droplet).to.equal(11);
    const asked = cloud.received.filter(({ path }) => path === '/v2/droplets');
    expect(asked.map(({ query }) => query['type'] ?? '')).to.include.members(['droplets', 'gpus']);
    await one.detach();
    expect(cloud.received.filter(({ path }) => path === '/v2/droplets')).to.have.length(
      asked.length,
    );
  });

  it('a Droplet gets one action at a time', async () => {
    cloud.actionMs = 30;
    const all = Array.from({ length: 4 }, (_, n) => volume(`uid-${n}`));
    for (const one of all) await one.provision();
    await Promise.all(all.map((one) => one.attach()));
    expect([...cloud.volumes.values()].map(({ droplet }) => droplet)).to.deep.equal([
      11, 11, 11, 11,
    ]);
    // Each action was accepted: no second one was sent while one ran.
    const actions = requests().filter(
      (line) => line.startsWith('POST') && line.endsWith('actions'),
    );
    expect(actions).to.have.length(4);
  });

  it('a refusal that says "attached" is believed only of a volume that is', async () => {
    const one = volume();
    await one.provision();
    const said = { id: 'unprocessable_entity', message: 'This volume is already attached' };
    cloud.play('POST', /actions$/, { status: 422, body: said });
    expect((await refusalOf(one.attach())).kind).to.equal('InUse');
    await one.attach();
    cloud.play('POST', /actions$/, {
      status: 422,
      body: { ...said, message: 'Attachment not found' },
    });
    expect((await refusalOf(one.detach())).kind).to.equal('NotFound');
    await one.detach();
    expect(cloud.volumes.get(one.handle)?.droplet).to.equal(undefined);
  });

  it('429 answers Pending with the time that the provider names, and no request is made before', async () => {
    cloud.play('GET', /volumes$/, { status: 429, body: {}, headers: { 'retry-after': '9' } });
    const request = { ...volume().request(), sizeBytes: 1n, topology: {} };
    const provision = { ...request, accessMode: 'ReadWriteOnce' } as const;
    expect(await driver.provision(provision)).to.deep.equal({
      type: 'pending',
      pollAfterMs: 9_000,
    });
    expect(await driver.provision(provision)).to.include({ type: 'pending' });
    expect(cloud.received).to.have.length(1);
  });

  it('grows a volume, and restores a snapshot at its size before it grows', async () => {
    const one = volume();
    await one.provision();
    await one.expand(3n);
    const snapshot = { uid: 'snap-1', name: 's', namespace: 'shop' };
    const taken = await over(() => driver.createSnapshot({ ...one.request(), snapshot }));
    expect(taken).to.include({ restoreSizeBytes: 3n * 1024n ** 3n, ready: true });
    const two = volume('uid-2');
    const restore = {
      ...two.request(),
      sizeBytes: 5n * 1024n ** 3n,
      topology: {},
      accessMode: 'ReadWriteOnce',
      snapshot: { ...snapshot, handle: taken.handle },
    } as const;
    const { sizeBytes } = await over(() => driver.restore(restore));
    expect(sizeBytes).to.equal(5n * 1024n ** 3n);
    const bodies = cloud.received.filter(({ method }) => method === 'POST').map(({ body }) => body);
    expect(bodies.slice(-2)).to.deep.equal([
      {
        name: 'kedge-uid-2',
        region: 'fra1',
        description: 'kedge cluster=cluster-1 volume=uid-2 name=shop/data',
        snapshot_id: taken.handle,
        size_gigabytes: 3,
      },
      { type: 'resize', size_gigabytes: 5, region: 'fra1' },
    ]);
    const elsewhere = { ...restore, parameters: { region: 'nyc3', apiToken: token } };
    const { message } = await refusalOf(
      driver.restore({ ...elsewhere, volume: volume('uid-3').request().volume }),
    );
    expect(message).to.contain('is in region fra1; restore it with a class of that region');
  });

  it('a snapshot whose answer was lost is deleted with its object, also when its volume is gone', async () => {
    const one = volume();
    await one.provision();
    const snapshot = { uid: 'snap-1', name: 's', namespace: 'shop' };
    cloud.play('POST', /snapshots$/, {}, { after: true });
    await refusalOf(driver.createSnapshot({ ...one.request(), snapshot }));
    await driver.deleteSnapshot({ ...one.request(), snapshot, handle: undefined });
    expect(cloud.snapshots.size).to.equal(0);
    await over(() => driver.createSnapshot({ ...one.request(), snapshot }));
    await one.delete();
    await driver.deleteSnapshot({ ...one.request(), snapshot, handle: undefined });
    expect(cloud.snapshots.size).to.equal(0);
  });

  it('a class without a token is told, and the legacy parameter gives one', async () => {
    const none = volume(uid, { region: 'fra1' } as never);
    expect((await refusalOf(none.provision())).message).to.contain('the class has no token');
    await volume(uid, { region: 'fra1', apiTokenSecretRef: token } as never).provision();
    expect(cloud.received.at(-1)?.token).to.equal(token);
  });

  it('check tells what the token permits by reads alone', async () => {
    cloud.tokens.set(
      token,
      fiveScopes.filter((scope) => scope !== 'droplet:read' && scope !== 'actions:read'),
    );
    const { signal } = new AbortController();
    const parameters = { region: 'fra1', apiToken: token };
    const reports = await driver.check!({ parameters, node: 'worker', signal });
    const states = Object.fromEntries(reports.map(({ permission, state }) => [permission, state]));
    expect(states).to.deep.equal({
      'block_storage:read': 'ok',
      'block_storage:create': 'unknown',
      'block_storage:delete': 'unknown',
      'block_storage_action:create': 'unknown',
      'actions:read': 'missing',
      'droplet:read': 'missing',
      'block_storage_snapshot:read': 'ok',
      'block_storage_snapshot:create': 'unknown',
      'block_storage_snapshot:delete': 'unknown',
    });
    expect(cloud.received.every(({ method }) => method === 'GET')).to.equal(true);
  });

  it('lists the volumes of this installation alone, with their snapshots', async () => {
    const one = volume();
    await one.provision();
    cloud.volumes.set('x', {
      id: 'x',
      name: 'mine',
      region: 'fra1',
      description: 'of a person',
      size: 1,
    });
    const snapshot = { uid: 'snap-1', name: 's', namespace: 'shop' };
    await over(() => driver.createSnapshot({ ...one.request(), snapshot }));
    const { signal } = new AbortController();
    const parameters = { region: 'fra1', apiToken: token };
    const { resources, warnings } = await driver.orphans!({ parameters, node: 'worker', signal });
    expect(resources.map(({ type, name, uid: of }) => ({ type, name, of }))).to.deep.equal([
      { type: 'volume', name: `kedge-${uid}`, of: uid },
      { type: 'snapshot', name: 'kedge-snap-1', of: undefined },
    ]);
    expect(warnings[0]).to.contain('snapshots of deleted volumes');
  });

  it('the token is in no error and in no journal', async () => {
    const one = volume();
    cloud.play('GET', /volumes$/, { status: 400, body: { id: 'x', message: `bad ${token}` } });
    const error = await refusalOf(one.provision());
    await one.provision();
    await one.attach();
    const told = inspect([error, driver.recentCalls!(uid), driver], { depth: 9, showHidden: true });
    expect(driver.recentCalls!(uid)).to.have.length.greaterThan(4);
    expect(told).not.to.contain(token);
  });
});
