import { expect } from 'chai';
import fc from 'fast-check';
import { seededRandom } from 'kedge';
import { FakeClock } from 'kedge/testing';
import { ask, type Answer } from '../core/client.js';
import { RecordedDevices } from '../core/devices.js';
import type { Emulator } from '../core/emulator.js';
import type { Token } from '../core/machine.js';
import { createEmulator } from '../index.js';
import { specifiedScopes } from './machine.js';
import { type RefusalName, refusals } from './refusals.js';

const instances = [
  { name: 'Node-1', place: 'fra1' },
  { name: 'node-2', place: 'fra1' },
  { name: 'far', place: 'nyc3' },
  { name: 'gpu-1', place: 'fra1', gpu: true },
];
const [here, there, far] = [3_164_444, 3_164_445, 3_164_446] as const;
const tokens: readonly Token[] = [
  { name: 'test', secret: 'test-token' },
  { name: 'five', secret: 'five-scopes', scopes: specifiedScopes },
  { name: 'reader', secret: 'reader', scopes: ['block_storage:read'] },
];

describe('cloud1', () => {
  let clock: FakeClock;
  let emulator: Emulator;
  let devices: RecordedDevices;

  beforeEach(() => {
    clock = new FakeClock();
    devices = new RecordedDevices();
    ({ emulator } = createEmulator({ provider: 'cloud1', instances, tokens, clock, devices }));
  });

  const get = (path: string, token?: string): Promise<Answer> =>
    ask(emulator, { call: `GET ${path}`, ...(token ? { token } : {}) });
  const post = (path: string, body: unknown, token?: string): Promise<Answer> =>
    ask(emulator, { call: `POST ${path}`, body, ...(token ? { token } : {}) });
  const remove = (path: string): Promise<Answer> => ask(emulator, { call: `DELETE ${path}` });

  const made = async (name: string, region = 'fra1', sizeGib = 1): Promise<string> => {
    const body = { name, region, size_gigabytes: sizeGib, description: 'd' };
    const answer = await post('/v2/volumes', body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    return (answer.body['volume'] as { id: string }).id;
  };
  const act = (id: string, body: unknown): Promise<Answer> =>
    post(`/v2/volumes/${id}/actions`, body);
  const attached = async (id: string, droplet: number): Promise<void> => {
    expect((await act(id, { type: 'attach', droplet_id: droplet })).status).to.equal(202);
    await clock.advance(1_000);
  };
  const volume = async (id: string) =>
    (await get(`/v2/volumes/${id}`)).body['volume'] as Record<string, unknown>;
  const expectRefusal = (answer: Answer, name: RefusalName): void => {
    const { status, id, message } = refusals[name];
    expect(answer).to.deep.include({ status, body: { id, message } });
  };

  it('creates, attaches, resizes, detaches and deletes a volume', async () => {
    const id = await made('a');
    expect(await volume(id)).to.deep.include({
      ...{ name: 'a', droplet_ids: null, size_gigabytes: 1, description: 'd' },
    });
    expect((await volume(id))['region']).to.include({ slug: 'fra1' });
    const answer = await act(id, { type: 'attach', droplet_id: here, region: 'fra1' });
    expect(answer.status).to.equal(202);
    const action = answer.body['action'] as { id: number };
    expect(action).to.include({ status: 'in-progress', resource_id: null, completed_at: null });
    expect(await volume(id)).to.include({ droplet_ids: null });
    await clock.advance(1_000);
    const polled = (await get(`/v2/actions/${action.id}`)).body['action'];
    expect(polled).to.include({ status: 'completed' });
    expect(await volume(id)).to.deep.include({ droplet_ids: [here] });
    expect((await get(`/v2/droplets/${here}`)).body['droplet']).to.deep.include({
      volume_ids: [id],
    });
    await act(id, { type: 'resize', size_gigabytes: 2 });
    await clock.advance(1_000);
    expect(await volume(id)).to.include({ size_gigabytes: 2 });
    expectRefusal(await remove(`/v2/volumes/${id}`), 'attachedDelete');
    await act(id, { type: 'detach', droplet_id: here });
    await clock.advance(1_000);
    expect((await remove(`/v2/volumes/${id}`)).status).to.equal(204);
    expectRefusal(await get(`/v2/volumes/${id}`), 'notFound');
    expect(devices.changes.map(({ type }) => type)).to.deep.equal([
      ...['created', 'attached', 'resized', 'detached', 'deleted'],
    ]);
    expect(await emulator.inventory()).to.deep.equal([]);
  });

  it('changes its disks when an action ends, also without a request', async () => {
    const id = await made('a');
    await act(id, { type: 'attach', droplet_id: here });
    await clock.advance(999);
    expect(devices.changes).to.have.length(1);
    await clock.advance(1);
    expect(devices.changes.at(-1)).to.deep.equal({
      ...{ type: 'attached', volume: id, instance: 'Node-1', link: 'scsi-0DO_Volume_a' },
    });
  });

  it('gives a restored volume the size of its snapshot, regardless of the requested size', async () => {
    const id = await made('a', 'fra1', 3);
    const snapshots = `/v2/volumes/${id}/snapshots`;
    const { body } = await post(snapshots, { name: 's' });
    const snapshot = body['snapshot'] as { id: string };
    // `size_gigabytes` is the billable size, and not that of the disk.
    expect(snapshot).to.deep.include({ min_disk_size: 3, size_gigabytes: 0, regions: ['fra1'] });
    expectRefusal(await post(snapshots, { name: 's' }), 'snapshotNameTaken');
    const order = { name: 'b', region: 'fra1', size_gigabytes: 10, snapshot_id: snapshot.id };
    const restored = (await post('/v2/volumes', order)).body['volume'] as { id: string };
    expect(restored).to.include({ size_gigabytes: 3 });
    expect(devices.changes.at(-1)).to.include({ type: 'created', from: snapshot.id });
    expectRefusal(
      await post('/v2/volumes', { ...order, name: 'c', region: 'nyc3' }),
      'snapshotRegion',
    );
    expectRefusal(await post('/v2/volumes', { ...order, snapshot_id: 'x' }), 'noSnapshot');
    expect((await remove(`/v2/volumes/snapshots/${snapshot.id}`)).status).to.equal(204);
    expectRefusal(await get(`/v2/volumes/snapshots/${snapshot.id}`), 'notFound');
  });

  describe('refuses', () => {
    const order = { name: 'a', region: 'fra1', size_gigabytes: 1 };
    for (const [why, body, refusal] of [
      ['a name in upper case', { ...order, name: 'A' }, 'badName'],
      ['a name that begins with a digit', { ...order, name: '1a' }, 'badName'],
      ['a name of 65 characters', { ...order, name: 'a'.repeat(65) }, 'badName'],
      ['no name', { region: 'fra1', size_gigabytes: 1 }, 'badName'],
      ['a size of 0', { ...order, size_gigabytes: 0 }, 'badSize'],
      ['a size over 16 TiB', { ...order, size_gigabytes: 16_385 }, 'badSize'],
      ['a size that is text', { ...order, size_gigabytes: '1' }, 'badBody'],
      ['an unknown region', { ...order, region: 'mars1' }, 'badRegion'],
      ['no region', { name: 'a', size_gigabytes: 1 }, 'badRegion'],
      ['a long label', { ...order, filesystem_label: 'x'.repeat(17) }, 'badLabel'],
      ['a body that is not an object', [], 'badBody'],
    ] as const)
      it(`${why}`, async () => expectRefusal(await post('/v2/volumes', body), refusal));

    it('a second volume of a name in a region, not in another one', async () => {
      await made('a');
      expectRefusal(await post('/v2/volumes', order), 'nameTaken');
      await made('a', 'nyc3');
    });

    it('a volume over the capacity of the account, with 403', async () => {
      ({ emulator } = createEmulator({ provider: 'cloud1', clock, volumesMax: 1 }));
      await made('a');
      expectRefusal(await post('/v2/volumes', { ...order, name: 'b' }), 'capacity');
    });

    it('an attach to a droplet of another region or to an unknown one, and of an attached volume', async () => {
      const id = await made('a');
      const attach = { type: 'attach', droplet_id: here };
      expectRefusal(await act(id, { ...attach, droplet_id: far }), 'otherRegion');
      expectRefusal(await act(id, { ...attach, droplet_id: 1 }), 'noDroplet');
      expectRefusal(await act(id, { ...attach, region: 'nyc3' }), 'badRegion');
      expectRefusal(await act('none', attach), 'notFound');
      expectRefusal(await act(id, { type: 'mount' }), 'badAction');
      await attached(id, here);
      expectRefusal(await act(id, attach), 'alreadyAttached');
      expectRefusal(await act(id, { ...attach, droplet_id: there }), 'alreadyAttached');
    });

    it('a second action of a droplet at a time, and of a volume', async () => {
      const [a, b] = [await made('a'), await made('b')];
      await act(a, { type: 'attach', droplet_id: here });
      expectRefusal(await act(b, { type: 'attach', droplet_id: here }), 'pendingEvent');
      expectRefusal(await act(a, { type: 'attach', droplet_id: there }), 'volumeBusy');
      expectRefusal(await remove(`/v2/volumes/${a}`), 'volumeBusy');
      expect((await act(b, { type: 'attach', droplet_id: there })).status).to.equal(202);
      await clock.advance(1_000);
      expectRefusal(await act(b, { type: 'detach', droplet_id: here }), 'notAttached');
    });

    it('a resize that does not grow', async () => {
      const id = await made('a', 'fra1', 2);
      expectRefusal(await act(id, { type: 'resize', size_gigabytes: 2 }), 'notLarger');
      expectRefusal(await act(id, { type: 'resize', size_gigabytes: 16_385 }), 'badSize');
    });

    it('a sixteenth volume of a droplet', async () => {
      for (let n = 0; n < 15; n += 1) await attached(await made(`v${n}`), here);
      const id = await made('last');
      expectRefusal(await act(id, { type: 'attach', droplet_id: here }), 'attachLimit');
      await attached(id, there);
    });

    it('pages out of range', async () => {
      expect((await get('/v2/volumes?per_page=200')).status).to.equal(200);
      expectRefusal(await get('/v2/volumes?per_page=201'), 'badPage');
      expectRefusal(await get('/v2/volumes?page=0'), 'badPage');
    });

    it('paths that it does not have, and logs them', async () => {
      expectRefusal(await get('/v2/sizes'), 'notFound');
      expect(emulator.requests.at(-1)).to.include({ unknownRoute: true });
    });
  });

  describe('a token', () => {
    it('that is missing or unknown is 401', async () => {
      expectRefusal(await ask(emulator, { call: 'GET /v2/volumes', token: null }), 'unauthorized');
      expectRefusal(await get('/v2/volumes', 'stranger'), 'unauthorized');
    });

    it('without the scope is 403', async () => {
      const order = { name: 'a', region: 'fra1', size_gigabytes: 1 };
      expectRefusal(await post('/v2/volumes', order, 'reader'), 'forbidden');
      expect((await get('/v2/volumes', 'reader')).status).to.equal(200);
    });

    it('with the scopes of the specification may not use tags, /v2/snapshots and the actions of a volume', async () => {
      const order = { name: 'a', region: 'fra1', size_gigabytes: 1 };
      const token = 'five-scopes';
      expectRefusal(await post('/v2/volumes', { ...order, tags: ['t'] }, token), 'forbidden');
      const { body } = await post('/v2/volumes', order, token);
      const { id } = body['volume'] as { id: string };
      const act1 = await post(
        `/v2/volumes/${id}/actions`,
        { type: 'resize', size_gigabytes: 2 },
        token,
      );
      const { id: action } = act1.body['action'] as { id: number };
      expect((await get(`/v2/actions/${action}`, token)).status).to.equal(200);
      expectRefusal(await get(`/v2/volumes/${id}/actions/${action}`, token), 'forbidden');
      expectRefusal(await get('/v2/snapshots', token), 'forbidden');
      expect((await get(`/v2/volumes/${id}/snapshots`, token)).status).to.equal(200);
    });

    it('that is revoked is unknown, and a new one is known', async () => {
      emulator.revokeToken('test');
      expectRefusal(await get('/v2/volumes'), 'unauthorized');
      emulator.addToken({ name: 'new', secret: 'new-token' });
      expect((await get('/v2/volumes', 'new-token')).status).to.equal(200);
    });

    it('has 250 requests a minute, and a refusal has Retry-After', async () => {
      for (let n = 0; n < 250; n += 1) await get('/v2/volumes');
      const refused = await get('/v2/volumes');
      expectRefusal(refused, 'tooManyRequests');
      expect(refused.headers).to.include({ 'retry-after': '60', 'ratelimit-remaining': '4750' });
      expect((await get('/v2/volumes', 'five-scopes')).status).to.equal(200);
      await clock.advance(60_000);
      expect((await get('/v2/volumes')).status).to.equal(200);
    });
  });

  it('lists in pages, with links to existing pages only', async () => {
    for (const name of ['a', 'b', 'c']) await made(name);
    const page = async (number: number) =>
      (await get(`/v2/volumes?region=fra1&per_page=2&page=${number}`)).body as {
        volumes: readonly { name: string }[];
        links: { pages?: Record<string, string> };
        meta: { total: number };
      };
    const first = await page(1);
    expect(first.volumes.map(({ name }) => name)).to.deep.equal(['a', 'b']);
    expect(Object.keys(first.links.pages ?? {})).to.deep.equal(['next', 'last']);
    expect(first.links.pages?.['next']).to.match(/region=fra1&per_page=2&page=2$/);
    const second = await page(2);
    expect(second.volumes.map(({ name }) => name)).to.deep.equal(['c']);
    expect(Object.keys(second.links.pages ?? {})).to.deep.equal(['first', 'prev']);
    expect(second.meta).to.deep.equal({ total: 3 });
    expect((await get('/v2/volumes')).body['links']).to.deep.equal({});
  });

  it('finds droplets by name in any case, and GPU droplets only with type=gpus', async () => {
    const names = async (query: string) =>
      ((await get(`/v2/droplets?${query}`)).body['droplets'] as { name: string }[]).map(
        ({ name }) => name,
      );
    expect(await names('name=node-1')).to.deep.equal(['Node-1']);
    expect(await names('name=gpu-1')).to.deep.equal([]);
    expect(await names('name=gpu-1&type=gpus')).to.deep.equal(['gpu-1']);
  });

  it('detaches the volumes of a droplet that is destroyed', async () => {
    const id = await made('a');
    await attached(id, here);
    await emulator.removeInstance('Node-1');
    expect(await volume(id)).to.include({ droplet_ids: null });
    expect(devices.changes.at(-1)).to.include({ type: 'detached' });
  });

  it('may leave a new volume out of lists for a while, and lose the record of an action', async () => {
    emulator.lagLists(2);
    const id = await made('a');
    const listed = async () =>
      ((await get('/v2/volumes?name=a')).body['volumes'] as unknown[]).length;
    expect([await listed(), await listed(), await listed()]).to.deep.equal([0, 0, 1]);
    expect((await get(`/v2/volumes/${id}`)).status).to.equal(200);
    await act(id, { type: 'resize', size_gigabytes: 2 });
    const [action] = emulator.actions;
    emulator.forgetAction(action!.id);
    expectRefusal(await get(`/v2/actions/${action!.id}`), 'notFound');
  });

  it('ends a pending action after a restart', async () => {
    const options = { provider: 'cloud1', instances, tokens, clock } as const;
    const before = createEmulator(options);
    emulator = before.emulator;
    const id = await made('a');
    await act(id, { type: 'attach', droplet_id: here });
    const saved: unknown = JSON.parse(JSON.stringify(before.machine.save()));
    await emulator.close();
    await clock.advance(5_000);
    ({ emulator } = createEmulator({ ...options, saved }));
    expect(await emulator.inventory()).to.include(`attached ${id} to Node-1`);
  });

  it('keeps its rules in any order of the calls', async () => {
    const step = fc.record({
      kind: fc.constantFrom('create', 'attach', 'detach', 'resize', 'delete', 'wait'),
      volume: fc.nat(3),
      droplet: fc.constantFrom<number>(here, there),
      size: fc.integer({ min: 1, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        clock = new FakeClock();
        const random = seededRandom(1);
        devices = new RecordedDevices();
        const options = { instances, tokens, clock, devices, random };
        ({ emulator } = createEmulator({ provider: 'cloud1', ...options }));
        const ids = new Map<number, string>();
        for (const { kind, volume: n, droplet, size } of steps) {
          const id = ids.get(n) ?? 'none';
          if (kind === 'create') {
            const body = { name: `v${n}`, region: 'fra1', size_gigabytes: size };
            const answer = await post('/v2/volumes', body);
            expect(answer.status).to.equal(ids.has(n) ? 409 : 201);
            if (!ids.has(n)) ids.set(n, (answer.body['volume'] as { id: string }).id);
          } else if (kind === 'wait') await clock.advance(500);
          else if (kind === 'delete') {
            const { status } = await remove(`/v2/volumes/${id}`);
            if (status === 204) ids.delete(n);
          } else {
            const body =
              kind === 'resize'
                ? { type: kind, size_gigabytes: size }
                : { type: kind, droplet_id: droplet };
            expect((await act(id, body)).status).to.be.oneOf([202, 404, 422]);
          }
          const running = emulator.actions.filter(({ status }) => status === 'running');
          const locks = running.flatMap(({ locks: held }) => held);
          expect(new Set(locks).size, 'a lock is held once').to.equal(locks.length);
        }
        await clock.advance(1_000);
        // The disks must agree with the provider's records: the changes are replayed.
        const links = new Set<string>();
        for (const change of devices.changes) {
          if (change.type === 'attached') {
            expect(links.has(change.volume), 'attached twice').to.equal(false);
            links.add(change.volume);
          } else if (change.type === 'detached') links.delete(change.volume);
          else if (change.type === 'deleted') expect(links.has(change.volume)).to.equal(false);
        }
        const attachments = (await emulator.inventory()).filter((line) =>
          line.startsWith('attached'),
        );
        expect(attachments.map((line) => line.split(' ')[1])).to.have.members([...links]);
      }),
      { numRuns: 60 },
    );
  });
});
