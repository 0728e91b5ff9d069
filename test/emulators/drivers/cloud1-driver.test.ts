import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Driver, isPending, type Operations } from '@kedge/driver-sdk';
import { specifiedScopes } from '../cloud1/machine.js';
import { ask } from '../core/client.js';
import type { Fault } from '../core/faults.js';
import type { Instance } from '../core/machine.js';
import { type CloudChoice, EmulatedCloud, here, testToken } from '../sweep/emulated-cloud.js';
import { CalledDriver, refusalOf } from './called-driver.js';

const uid = '0e2c4f9a-7a39-4d1e-9b4b-3f1d2c5e6a70';
const without = (...scopes: readonly string[]) =>
  specifiedScopes.filter((scope) => !scopes.includes(scope));

describe('cloud1-volume', () => {
  let folder: string;
  let cloud: EmulatedCloud;
  let driver: Driver;
  const started = async (choice: CloudChoice = {}): Promise<void> => {
    const disks = await mkdtemp(join(folder, 'disks-'));
    cloud = new EmulatedCloud('cloud1', disks, { actionMs: 0, ...choice });
    driver = await cloud.driver();
  };
  const volume = (of = uid, parameters = cloud.parameters): CalledDriver =>
    new CalledDriver(cloud, driver, of, parameters);
  const requests = (): readonly string[] =>
    cloud.emulator.requests.map(({ method, path }) => `${method} ${path}`);
  const bodies = (): readonly unknown[] =>
    cloud.emulator.requests.flatMap(({ body }) =>
      body === '' ? [] : [JSON.parse(body) as unknown],
    );
  const fail = (on: string, fault: Fault): void => cloud.emulator.faults.add({ on, fault });
  const setScopes = (scopes: readonly string[], secret = testToken): void =>
    cloud.emulator.addToken({ name: 'sweep', secret, scopes });
  const existing = async (kind: string): Promise<readonly string[]> =>
    (await cloud.emulator.inventory()).filter((one) => one.startsWith(`${kind} `));

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-cloud1-'));
  });
  beforeEach(() => started());
  afterEach(async () => {
    expect(cloud.emulator.violations).to.deep.equal([]);
    await cloud.emulator.close();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('provisions with two requests, in whole GiB, and marks the volume in its description', async () => {
    const { sizeBytes } = await volume().provision();
    expect(sizeBytes).to.equal(1024n ** 3n);
    expect(requests()).to.deep.equal(['GET /v2/volumes', 'POST /v2/volumes']);
    expect(bodies()).to.deep.equal([
      {
        name: `kedge-${uid}`,
        region: 'fra1',
        size_gigabytes: 1,
        description: `kedge cluster=cluster-1 volume=${uid} name=shop/data`,
      },
    ]);
  });

  it('names volumes by their uid alone: lower case, at most 64 characters', async () => {
    for (const odd of ['UPPER', 'a'.repeat(80), 'h-0', 'under_score', 'ends-'])
      await volume(odd).provision();
    const names = (await existing('volume')).map((line) => line.split(' ')[2]);
    expect(new Set(names).size).to.equal(5);
    for (const name of names) expect(name).to.match(/^[a-z][a-z0-9-]{0,62}[a-z0-9]$/);
  });

  it('a creation whose answer was lost is found, and not made again', async () => {
    const one = volume();
    fail('POST /v2/volumes', { type: 'lostReply' });
    expect((await refusalOf(one.provision())).kind).to.equal('Timeout');
    await one.provision();
    expect(await existing('volume')).to.have.length(1);
  });

  it('a volume that lists do not show yet is neither created twice nor leaked by its deletion', async () => {
    const one = volume();
    cloud.emulator.lagLists(3);
    fail('POST /v2/volumes', { type: 'lostReply' });
    await refusalOf(one.provision());
    const request = one.request();
    const provision = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
    const again = await driver.provision({ ...request, ...provision });
    expect(again).to.include({ type: 'pending', pollAfterMs: 5_000 });
    const gone = { ...request, handle: undefined };
    expect(await driver.delete(gone)).to.include({ type: 'pending', pollAfterMs: 10_000 });
    expect(await driver.delete(gone)).to.equal(undefined);
    expect(await existing('volume')).to.deep.equal([]);
  });

  it('attach without its scope is refused in the words of the specification (5.3)', async () => {
    setScopes(without('block_storage_action:create'));
    const one = volume();
    await one.provision();
    const { kind, message } = await refusalOf(one.attach());
    expect(kind).to.equal('CredentialsRejected');
    expect(message).to.match(
      /^provider rejected credentials: DigitalOcean answered 403: You do not/,
    );
    expect(message).to.contain('attachVolume needs scope block_storage_action:create');
    cloud.emulator.revokeToken('sweep');
    expect((await refusalOf(one.attach())).message).to.contain('answered 401');
  });

  it('actions that the token does not show end as Timeout, and the next token finds the volume attached', async () => {
    await started({ actionMs: 1_500 });
    setScopes(without('actions:read'));
    const one = volume();
    await one.provision();
    const { kind, message, operation } = await refusalOf(one.attach());
    expect(kind).to.equal('Timeout');
    expect(message).to.contain('getAction needs scope actions:read');
    expect(operation).to.match(/^\d+$/);
    setScopes(specifiedScopes, 'dop_v1_renewed');
    await one.attach(here, { region: 'fra1', apiToken: 'dop_v1_renewed' });
    expect(await existing('attached')).to.have.length(1);
    expect(requests().filter((line) => /^POST.*actions$/.test(line))).to.have.length(1);
  });

  it('a volume that is attached here is attached again without a request, and without a token', async () => {
    const one = volume();
    await one.provision();
    const attached = await one.attach();
    const before = requests().length;
    expect(attached).to.deep.equal({ devicePath: `/double/links/scsi-0DO_Volume_kedge-${uid}` });
    driver = await cloud.driver();
    const restarted = volume(uid, { region: 'fra1' });
    restarted.handle = one.handle;
    expect(await restarted.attach()).to.deep.equal(attached);
    expect(requests()).to.have.length(before);
    await restarted.operations.set('detach', 'k 7');
    const { message } = await refusalOf(restarted.attach());
    expect(message).to.contain('the class has no token');
    await restarted.operations.clear('detach');
    const elsewhere = await refusalOf(restarted.attach('worker-2'));
    expect(elsewhere.kind).to.equal('InvalidParameters');
    expect(requests()).to.have.length(before);
  });

  it('finds the Droplet by its exact name, on every page, and requests GPU Droplets, too', async () => {
    // The provider ignores the case of names, and has at most 200 Droplets in a page.
    const variants = Array.from({ length: 1 << 10 }, (_, bits) =>
      [...'worker-abc']
        .map((letter, n) => (bits & (1 << n) ? letter.toUpperCase() : letter))
        .join(''),
    ).filter((name) => name !== 'worker-abc');
    const others = [...new Set(variants)].map((name): Instance => ({ name, place: 'fra1' }));
    expect(others.length).to.be.above(200);
    const droplets = [...others, { name: 'worker-abc', place: 'fra1' }];
    await started({ instances: [...droplets, { name: 'gpu-1', place: 'fra1', gpu: true }] });
    const one = volume();
    await one.provision();
    await one.attach('worker-abc');
    expect(await existing('attached')).to.deep.equal([`attached ${one.handle} to worker-abc`]);
    const asked = () => cloud.emulator.requests.filter(({ path }) => path === '/v2/droplets');
    const types = asked().map(({ query }) => query.find(([key]) => key === 'type')?.[1]);
    expect(types).to.include.members(['droplets', 'gpus']);
    const before = asked().length;
    await one.detach('worker-abc');
    expect(asked()).to.have.length(before);
    await one.attach('gpu-1');
    expect(await existing('attached')).to.deep.equal([`attached ${one.handle} to gpu-1`]);
  });

  it('a refusal as already attached, or as not found, is an error if the volume is in the other state', async () => {
    const one = volume();
    await one.provision();
    const refusal = (message: string): Fault => ({
      ...{ type: 'answer', status: 422 },
      body: JSON.stringify({ id: 'unprocessable_entity', message }),
    });
    fail('POST /v2/volumes/*/actions', refusal('This volume is already attached'));
    expect((await refusalOf(one.attach())).kind).to.equal('InUse');
    await one.attach();
    fail('POST /v2/volumes/*/actions', refusal('Attachment not found'));
    expect((await refusalOf(one.detach())).kind).to.equal('NotFound');
    await one.detach();
    expect(await existing('attached')).to.deep.equal([]);
  });

  it('429 answers Pending with the time that the provider names, and no request is made before', async () => {
    fail('GET /v2/volumes', { type: 'rateLimited', retryAfterSeconds: 9 });
    const request = { ...volume().request(), sizeBytes: 1n, topology: {} };
    const provision = { ...request, accessMode: 'ReadWriteOnce' } as const;
    const answer = await driver.provision(provision);
    expect(answer).to.include({ type: 'pending', pollAfterMs: 9_000 });
    const calls = isPending(answer) ? answer.calls : undefined;
    expect(calls?.map(({ method, status, error }) => [method, status, error])).to.deep.equal([
      ['GET', 429, 'Throttled'],
    ]);
    expect(await driver.provision(provision)).to.include({ type: 'pending' });
    expect(requests()).to.have.length(1);
  });

  it('a class without a token is refused with a message, and the legacy parameter gives a token', async () => {
    const none = volume(uid, { region: 'fra1' });
    expect((await refusalOf(none.provision())).message).to.contain('the class has no token');
    await volume(uid, { region: 'fra1', apiTokenSecretRef: testToken }).provision();
    expect(cloud.emulator.requests.at(-1)?.token).to.equal('sweep');
  });

  it('check reports what the token permits, with reads only', async () => {
    setScopes(without('droplet:read', 'actions:read'));
    const { signal } = new AbortController();
    const { parameters } = cloud;
    const reports = await driver.check!({ parameters, node: here, signal });
    const scopes = reports.filter(({ permission }) => /^\w+:\w+$/.test(permission));
    const states = Object.fromEntries(scopes.map(({ permission, state }) => [permission, state]));
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
    expect(cloud.emulator.requests.every(({ method }) => method === 'GET')).to.equal(true);
  });

  it('lists the volumes of this cluster alone, with their snapshots', async () => {
    const one = volume();
    await one.provision();
    const foreign = { name: 'mine', region: 'fra1', size_gigabytes: 1, description: 'of a person' };
    const call = { call: 'POST /v2/volumes', body: foreign, token: testToken };
    expect((await ask(cloud.emulator, call)).status).to.equal(201);
    const snapshot = { uid: 'snap-1', name: 's', namespace: 'shop' };
    await cloud.over(() => driver.createSnapshot({ ...one.request(), snapshot }));
    const { signal } = new AbortController();
    const { parameters } = cloud;
    const { resources, warnings } = await driver.orphans!({ parameters, node: here, signal });
    expect(resources.map(({ type, name, uid: of }) => ({ type, name, of }))).to.deep.equal([
      { type: 'volume', name: `kedge-${uid}`, of: uid },
      { type: 'snapshot', name: 'kedge-snap-1', of: 'snap-1' },
    ]);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain('snapshots of deleted volumes');
  });

  it('lists orphans in every region: no class may name the one of an earlier class', async () => {
    await volume().provision();
    const { signal } = new AbortController();
    const parameters = { ...cloud.parameters, region: 'nyc3' };
    const listing = await driver.orphans!({ parameters, node: here, signal });
    expect(listing.resources.map(({ name, topology }) => ({ name, topology }))).to.deep.equal([
      { name: `kedge-${uid}`, topology: { 'svc.io/region': 'fra1' } },
    ]);
  });

  it('has no record of a deletion by name once the volume is absent, also after a lost answer', async () => {
    for (const answer of ['given', 'lost'] as const) {
      const one = volume();
      await one.provision();
      if (answer === 'lost') {
        fail('DELETE /v2/volumes/*', { type: 'lostReply' });
        await refusalOf(one.driver.delete({ ...one.request(), handle: undefined }));
        expect(await one.operations.get('delete')).to.be.a('string');
      }
      await cloud.over(() => one.driver.delete({ ...one.request(), handle: undefined }));
      expect(await one.operations.get('delete')).to.equal(undefined);
    }
  });

  it('a creation whose record could not be removed keeps it: lists may not show the volume yet', async () => {
    const one = volume();
    let failures = 1;
    const operations: Operations = {
      get: (kind) => one.operations.get(kind),
      set: (kind, id) => one.operations.set(kind, id),
      clear: (kind) => {
        failures -= 1;
        return failures < 0
          ? one.operations.clear(kind)
          : Promise.reject(new Error('the store does not answer'));
      },
    };
    const { handle: _, ...request } = one.request();
    const asked = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
    await refusalOf(Promise.resolve(driver.provision({ ...request, ...asked, operations })));
    expect(await existing('volume')).to.have.length(1);
    expect(await one.operations.get('provision')).to.match(/^create \d+$/);
  });
});
