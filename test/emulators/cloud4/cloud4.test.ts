import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { ask, type Answer } from '../core/client.js';
import { RecordedDevices } from '../core/devices.js';
import type { Emulator } from '../core/emulator.js';
import { createEmulator } from '../index.js';
import { type RefusalName, refusals } from './refusals.js';

const zone = 'europe-west3-a';
const instances = [
  { name: 'node-1', place: zone },
  { name: 'node-2', place: zone },
  { name: 'far', place: 'europe-west3-b' },
];
const root = '/compute/v1/projects/emulated-project';
const here = `${root}/zones/${zone}`;
const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

describe('cloud4', () => {
  let clock: FakeClock;
  let emulator: Emulator;
  let devices: RecordedDevices;

  beforeEach(() => {
    clock = new FakeClock();
    devices = new RecordedDevices();
    ({ emulator } = createEmulator({ provider: 'cloud4', instances, clock, devices }));
  });

  const get = (path: string): Promise<Answer> => ask(emulator, { call: `GET ${path}` });
  const post = (path: string, body?: unknown): Promise<Answer> =>
    ask(emulator, { call: `POST ${path}`, body });
  const remove = (path: string): Promise<Answer> => ask(emulator, { call: `DELETE ${path}` });

  const order = (name: string, more: object = {}) => ({
    ...{ name, sizeGb: '10', type: `projects/emulated-project/zones/${zone}/diskTypes/pd-ssd` },
    ...more,
  });
  const done = async (answer: Answer): Promise<Answer> => {
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    await clock.advance(1_000);
    return get(`${here}/operations/${String(answer.body['name'])}`);
  };
  const made = async (name: string, more: object = {}): Promise<void> => {
    const { body } = await done(await post(`${here}/disks`, order(name, more)));
    expect(body, JSON.stringify(body))
      .to.include({ status: 'DONE' })
      .and.not.have.property('error');
  };
  const attach = (disk: string, node = 'node-1', more: object = {}): Promise<Answer> =>
    post(`${here}/instances/${node}/attachDisk`, {
      ...{ source: `zones/${zone}/disks/${disk}`, deviceName: disk, mode: 'READ_WRITE' },
      ...more,
    });
  const detach = (deviceName: string, node = 'node-1'): Promise<Answer> =>
    post(`${here}/instances/${node}/detachDisk?deviceName=${deviceName}`);
  const expectRefusal = (answer: Answer, name: RefusalName): string => {
    const { status, reason } = refusals[name];
    expect(answer, JSON.stringify(answer.body)).to.include({ status });
    const error = answer.body['error'] as { message: string; errors: object[]; code: number };
    expect(error.code).to.equal(status);
    expect(error.errors[0]).to.include({ reason, message: error.message });
    return error.message;
  };
  const failureOf = ({ body }: Answer): object =>
    (body['error'] as { errors: object[] } | undefined)?.errors[0] ?? {};

  it('creates, attaches, grows, detaches, snapshots, restores and deletes a disk', async () => {
    const created = await post(`${here}/disks`, order('a', { labels: { owner: 'u' } }));
    expect(created.body).to.include({
      ...{ kind: 'compute#operation', operationType: 'insert', status: 'PENDING', progress: 0 },
    });
    expect((await get(`${here}/disks/a`)).body).to.include({ status: 'CREATING', sizeGb: '10' });
    expectRefusal(await attach('a'), 'notReady');
    expect((await done(created)).body).to.include({ status: 'DONE', progress: 100 });
    const { body: ready } = await get(`${here}/disks/a`);
    expect(ready).to.deep.include({ status: 'READY', labels: { owner: 'u' } });
    expect(ready).not.to.have.property('users');
    await done(await attach('a'));
    const { body: used } = await get(`${here}/disks/a`);
    expect(used['users']).to.deep.equal([
      `https://www.googleapis.com/compute/v1/projects/emulated-project/zones/${zone}/instances/node-1`,
    ]);
    const { disks } = (await get(`${here}/instances/node-1`)).body as { disks: object[] };
    expect(disks).to.have.length(2);
    expect(disks[1]).to.include({ deviceName: 'a', mode: 'READ_WRITE', boot: false, index: 1 });
    expect(expectRefusal(await remove(`${here}/disks/a`), 'inUse')).to.contain('node-1');
    await done(await post(`${here}/disks/a/resize`, { sizeGb: '20' }));
    await done(await detach('a'));
    await done(await post(`${here}/disks/a/createSnapshot`, { name: 's' }));
    expect((await get(`${root}/global/snapshots/s`)).body).to.include({ status: 'READY' });
    await done(await remove(`${here}/disks/a`));
    expectRefusal(await get(`${here}/disks/a`), 'notFound');
    await done(
      await post(`${here}/disks`, {
        ...order('b'),
        sizeGb: '20',
        sourceSnapshot: 'global/snapshots/s',
      }),
    );
    await done(await remove(`${here}/disks/b`));
    await remove(`${root}/global/snapshots/s`);
    await clock.advance(1_000);
    expect(devices.changes.map(({ type }) => type)).to.deep.equal([
      ...['created', 'attached', 'resized', 'detached', 'snapshotted', 'deleted'],
      ...['created', 'deleted', 'snapshotDeleted'],
    ]);
    expect(devices.changes[1]).to.include({ instance: 'node-1', link: 'google-a' });
    expect(devices.changes[6]).to.include({
      from: (devices.changes[4] as { snapshot: string }).snapshot,
    });
    expect(await emulator.inventory()).to.deep.equal([]);
  });

  describe('does the same for the same request id', () => {
    it('while the operation runs, when it has ended and when it has failed', async () => {
      const path = `${here}/disks?requestId=${uuid(1)}`;
      const first = await post(path, order('a'));
      const again = await post(path, order('a'));
      expect(again.body['name']).to.equal(first.body['name']);
      await clock.advance(1_000);
      expect((await post(path, order('a'))).body).to.include({
        ...{ name: first.body['name'], status: 'DONE' },
      });
      emulator.setFull(zone, true);
      const full = `${here}/disks?requestId=${uuid(2)}`;
      await post(full, order('b'));
      await clock.advance(1_000);
      emulator.setFull(zone, false);
      // The failed operation is what the request id stands for: a new attempt needs a new one.
      expect(failureOf(await post(full, order('b')))).to.include({
        code: 'ZONE_RESOURCE_POOL_EXHAUSTED',
      });
    });

    it('but refuses it for another request, and one that is not a UUID or is the zero UUID', async () => {
      await post(`${here}/disks?requestId=${uuid(1)}`, order('a'));
      for (const id of [uuid(1), 'x', '00000000-0000-0000-0000-000000000000'])
        expectRefusal(await post(`${here}/disks?requestId=${id}`, order('b')), 'invalid');
    });
  });

  it('in a zone without capacity accepts a disk, which is gone when the operation fails', async () => {
    emulator.setFull(zone, true);
    const created = await post(`${here}/disks`, order('a'));
    expect((await get(`${here}/disks/a`)).body).to.include({ status: 'CREATING' });
    const ended = await done(created);
    expect(ended.body).to.include({ status: 'DONE', httpErrorStatusCode: 503 });
    expect(failureOf(ended)).to.include({ code: 'ZONE_RESOURCE_POOL_EXHAUSTED' });
    expectRefusal(await get(`${here}/disks/a`), 'notFound');
    expect(devices.changes).to.deep.equal([]);
    await post(`${root}/zones/europe-west3-b/disks`, { name: 'a', sizeGb: '10' });
    await clock.advance(1_000);
    expect(await emulator.inventory()).to.have.length(1);
  });

  it('waits for an operation, and for two minutes at most', async () => {
    const { body } = await post(`${here}/disks`, order('a'));
    const path = `${here}/operations/${String(body['name'])}/wait`;
    const waiting = post(path);
    await clock.advance(999);
    await clock.advance(1);
    expect((await waiting).body).to.include({ status: 'DONE' });
    emulator.faults.add({ on: `DELETE ${here}/disks/*`, fault: { type: 'neverFinish' } });
    const deleted = await remove(`${here}/disks/a`);
    const stuck = post(`${here}/operations/${String(deleted.body['id'])}/wait`);
    await clock.advance(120_000);
    expect((await stuck).body).to.include({ status: 'RUNNING' });
  });

  it('attaches a disk read-only to many instances, and to one instance for writing', async () => {
    await made('a');
    const reading = { mode: 'READ_ONLY' };
    const first = await attach('a', 'node-1', reading);
    // Both at the same time.
    await done(await attach('a', 'node-2', reading));
    expect((await get(`${here}/operations/${String(first.body['name'])}`)).body).to.include({
      status: 'DONE',
    });
    expect((await get(`${here}/disks/a`)).body['users']).to.have.length(2);
    await done(await detach('a', 'node-2'));
    expectRefusal(await attach('a', 'node-2'), 'inUse');
    await done(await detach('a'));
    const writing = await attach('a');
    expectRefusal(await attach('a', 'node-2', reading), 'notReady');
    await done(writing);
    expectRefusal(await attach('a', 'node-2', reading), 'inUse');
    expectRefusal(await attach('a'), 'inUse');
  });

  it('gives pages of two, and no items where there are none', async () => {
    expect((await get(`${here}/disks`)).body).not.to.have.property('items');
    for (const name of ['c', 'a', 'b']) await post(`${here}/disks`, order(name));
    const first = await get(`${here}/disks?maxResults=500`);
    const names = ({ body }: Answer) =>
      (body['items'] as { name: string }[]).map(({ name }) => name);
    expect(names(first)).to.deep.equal(['a', 'b']);
    const token = String(first.body['nextPageToken']);
    const second = await get(`${here}/disks?pageToken=${token}`);
    expect(names(second)).to.deep.equal(['c']);
    expect(second.body).not.to.have.property('nextPageToken');
    expectRefusal(await get(`${here}/disks?pageToken=x`), 'invalid');
    expect(names(await get(`${here}/disks?filter=name%3Db`))).to.deep.equal(['b']);
  });
});
