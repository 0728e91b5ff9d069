import { expect } from 'chai';
import fc from 'fast-check';
import { FakeClock } from 'kedge/testing';
import { ask, type Answer } from '../core/client.js';
import { RecordedDevices } from '../core/devices.js';
import type { Emulator } from '../core/emulator.js';
import type { Token } from '../core/machine.js';
import { createEmulator } from '../index.js';
import { type RefusalName, refusals } from './refusals.js';
import { selects } from './rules.js';

const instances = [
  { name: 'node-1', place: 'fsn1' },
  { name: 'node-2', place: 'fsn1' },
  { name: 'far', place: 'hel1' },
];
const [here, there, far] = [42, 43, 44] as const;
const tokens: readonly Token[] = [
  { name: 'test', secret: 'test-token' },
  { name: 'reader', secret: 'reader', scopes: ['read'] },
];

describe('cloud2', () => {
  let clock: FakeClock;
  let emulator: Emulator;
  let devices: RecordedDevices;

  beforeEach(() => {
    clock = new FakeClock();
    devices = new RecordedDevices();
    ({ emulator } = createEmulator({ provider: 'cloud2', instances, tokens, clock, devices }));
  });

  const get = (path: string, token?: string): Promise<Answer> =>
    ask(emulator, { call: `GET ${path}`, ...(token ? { token } : {}) });
  const post = (path: string, body?: unknown, token?: string): Promise<Answer> =>
    ask(emulator, { call: `POST ${path}`, body, ...(token ? { token } : {}) });
  const remove = (id: number): Promise<Answer> =>
    ask(emulator, { call: `DELETE /v1/volumes/${id}` });

  const order = { name: 'a', size: 10, location: 'fsn1' };
  const made = async (name: string, more: object = {}): Promise<number> => {
    const answer = await post('/v1/volumes', { ...order, name, ...more });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    await clock.advance(1_000);
    return (answer.body['volume'] as { id: number }).id;
  };
  const act = (id: number, command: string, body?: unknown): Promise<Answer> =>
    post(`/v1/volumes/${id}/actions/${command}`, body);
  const attached = async (id: number, server: number): Promise<void> => {
    expect((await act(id, 'attach', { server })).status).to.equal(201);
    await clock.advance(1_000);
  };
  const volume = async (id: number) =>
    (await get(`/v1/volumes/${id}`)).body['volume'] as Record<string, unknown>;
  const actionOf = (answer: Answer) =>
    answer.body['action'] as { id: number; status: string; error: unknown };
  const expectRefusal = (answer: Answer, name: RefusalName, field?: string): void => {
    const { status, code } = refusals[name];
    expect(answer).to.include({ status });
    const error = answer.body['error'] as Record<string, unknown>;
    expect(error).to.include({ code });
    if (field === undefined) expect(error).not.to.have.property('details');
    else
      expect(error['details']).to.deep.equal({
        fields: [{ name: field, messages: [`${field} is invalid`] }],
      });
  };

  it('creates, attaches, detaches, resizes and deletes a volume', async () => {
    const created = await post('/v1/volumes', { ...order, labels: { 'svc.io/volume-id': 'u' } });
    const { id } = created.body['volume'] as { id: number };
    expect(created.body['next_actions']).to.deep.equal([]);
    expect(await volume(id)).to.deep.include({
      ...{ status: 'creating', server: null, size: 10, labels: { 'svc.io/volume-id': 'u' } },
      linux_device: `/dev/disk/by-id/scsi-0HC_Volume_${id}`,
    });
    expectRefusal(await act(id, 'attach', { server: here }), 'volumeLocked');
    await clock.advance(1_000);
    expect(await volume(id)).to.include({ status: 'available' });
    const attach = actionOf(await act(id, 'attach', { server: here, automount: false }));
    // A running action may have an error: only its status shows whether it failed.
    expect(attach).to.deep.include({ status: 'running', progress: 0, finished: null });
    expect(attach.error).to.include({ code: 'action_failed' });
    await clock.advance(1_000);
    expect(actionOf(await get(`/v1/actions/${attach.id}`))).to.include({
      ...{ status: 'success', error: null, progress: 100 },
    });
    expect(await volume(id)).to.include({ server: here });
    expect((await get(`/v1/servers/${here}`)).body['server']).to.deep.include({ volumes: [id] });
    expectRefusal(await remove(id), 'attachedDelete');
    await act(id, 'detach');
    await clock.advance(1_000);
    await act(id, 'resize', { size: 20 });
    await clock.advance(1_000);
    expect(await volume(id)).to.include({ size: 20, server: null });
    expect((await remove(id)).status).to.equal(204);
    expectRefusal(await get(`/v1/volumes/${id}`), 'notFound');
    expect(devices.changes.map(({ type }) => type)).to.deep.equal([
      ...['created', 'attached', 'detached', 'resized', 'deleted'],
    ]);
    expect(await emulator.inventory()).to.deep.equal([]);
  });

  it('creates a volume on a server in two actions', async () => {
    const { body } = await post('/v1/volumes', { name: 'a', size: 10, server: here });
    expect(body['next_actions']).to.have.length(1);
    await clock.advance(1_000);
    expect(await emulator.inventory()).to.include('attached 4711 to node-1');
  });

  describe('refuses', () => {
    for (const [why, body, field] of [
      ['a size below 10', { ...order, size: 9 }, 'size'],
      ['a size over 10240', { ...order, size: 10_241 }, 'size'],
      ['a size that is no whole number', { ...order, size: 10.5 }, 'size'],
      ['a size that is text', { ...order, size: '10' }, 'size'],
      ['no name', { size: 10, location: 'fsn1' }, 'name'],
      ['a name that ends with a dash', { ...order, name: 'a-' }, 'name'],
      ['a name of 65 characters', { ...order, name: 'a'.repeat(65) }, 'name'],
      ['an unknown location', { ...order, location: 'mars1' }, 'location'],
      ['neither location nor server', { name: 'a', size: 10 }, 'location'],
      ['an unknown server', { ...order, server: 1 }, 'server'],
      ['automount without a server', { ...order, automount: true }, 'automount'],
      ['a label that ends with a dash', { ...order, labels: { a: 'b-' } }, 'labels'],
      ['labels that are a list', { ...order, labels: [] }, 'labels'],
    ] as const)
      it(`${why}`, async () => expectRefusal(await post('/v1/volumes', body), 'badInput', field));

    it('a request without a body', async () => {
      expectRefusal(await post('/v1/volumes'), 'badJson');
    });

    it('a server of another location', async () => {
      expectRefusal(await post('/v1/volumes', { ...order, server: far }), 'otherLocation');
      const id = await made('a');
      expectRefusal(await act(id, 'attach', { server: far }), 'otherLocation');
    });

    it('a second volume of a name, in any location', async () => {
      await made('a');
      const again = await post('/v1/volumes', { ...order, location: 'hel1' });
      expectRefusal(again, 'nameTaken', 'name');
    });

    it('a volume over the limit of the project, or in a full location', async () => {
      ({ emulator } = createEmulator({ provider: 'cloud2', clock, volumesMax: 1 }));
      emulator.setFull('fsn1', true);
      expectRefusal(await post('/v1/volumes', order), 'noSpace');
      emulator.setFull('fsn1', false);
      await made('a');
      expectRefusal(await post('/v1/volumes', { ...order, name: 'b' }), 'volumeLimit');
    });

    it('an attach of an attached volume or to an unknown server, and a detach of a detached volume', async () => {
      const id = await made('a');
      expectRefusal(await act(id, 'detach'), 'notAttached');
      expectRefusal(await act(id, 'attach', { server: 1 }), 'notFound');
      await attached(id, here);
      expectRefusal(await act(id, 'attach', { server: here }), 'alreadyAttached');
      expectRefusal(await act(id, 'attach', { server: there }), 'alreadyAttached');
    });

    it('a second action of a server at a time', async () => {
      const [a, b] = [await made('a'), await made('b')];
      await act(a, 'attach', { server: here });
      expectRefusal(await act(b, 'attach', { server: here }), 'serverLocked');
      expect((await act(b, 'attach', { server: there })).status).to.equal(201);
    });

    it('a resize that does not grow', async () => {
      const id = await made('a');
      expectRefusal(await act(id, 'resize', { size: 10 }), 'badInput', 'size');
    });

    it('a seventeenth volume of a server', async () => {
      for (let n = 0; n < 16; n += 1) await attached(await made(`v${n}`), here);
      expectRefusal(await act(await made('last'), 'attach', { server: here }), 'attachLimit');
    });

    it('the deletion of a protected volume', async () => {
      const id = await made('a');
      await act(id, 'change_protection', { delete: true });
      await clock.advance(1_000);
      expect(await volume(id)).to.deep.include({ protection: { delete: true } });
      expectRefusal(await remove(id), 'protected');
      await act(id, 'change_protection', { delete: false });
      await clock.advance(1_000);
      expect((await remove(id)).status).to.equal(204);
    });

    it('paths that it does not have, such as snapshots, and logs them', async () => {
      expectRefusal(await get('/v1/snapshots'), 'notFound');
      expect(emulator.requests.at(-1)).to.include({ unknownRoute: true });
    });
  });

  it('refuses unknown tokens, and writes with a token that can only read', async () => {
    expectRefusal(await get('/v1/volumes', 'stranger'), 'unauthorized');
    expect((await get('/v1/volumes', 'reader')).status).to.equal(200);
    expectRefusal(await post('/v1/volumes', order, 'reader'), 'readOnly');
  });

  it('has 3600 requests an hour for all tokens of the project, and gives one back a second', async () => {
    const requestsMax = { hour: 3_600, minute: 0 };
    ({ emulator } = createEmulator({ provider: 'cloud2', tokens, clock, requestsMax }));
    for (let n = 0; n < 3_600; n += 1)
      await get('/v1/locations', n % 2 === 0 ? 'reader' : undefined);
    const refused = await get('/v1/locations');
    expectRefusal(refused, 'rateLimited');
    expect(refused.headers).to.include({ 'ratelimit-limit': '3600', 'ratelimit-remaining': '0' });
    expect(refused.headers).not.to.have.property('retry-after');
    await clock.advance(1_000);
    expect((await get('/v1/locations')).status).to.equal(200);
    expectRefusal(await get('/v1/locations', 'reader'), 'rateLimited');
  }).timeout(180_000);

  it('lists by name, label and status, sorted and in pages', async () => {
    await made('b', { labels: { tier: 'db' } });
    await made('a', { labels: { tier: 'web' } });
    await post('/v1/volumes', { ...order, name: 'c' });
    const list = async (query: string) =>
      (await get(`/v1/volumes?${query}`)).body as {
        volumes: readonly { name: string }[];
        meta: { pagination: Record<string, unknown> };
      };
    const names = async (query: string) => (await list(query)).volumes.map(({ name }) => name);
    expect(await names('')).to.deep.equal(['b', 'a', 'c']);
    expect(await names('sort=name')).to.deep.equal(['a', 'b', 'c']);
    expect(await names('sort=name:desc')).to.deep.equal(['c', 'b', 'a']);
    expect(await names('name=a')).to.deep.equal(['a']);
    expect(await names('label_selector=tier=db')).to.deep.equal(['b']);
    expect(await names('status=creating')).to.deep.equal(['c']);
    const { pagination } = (await list('per_page=2&page=1')).meta;
    expect(pagination).to.deep.equal({
      ...{ page: 1, per_page: 2, previous_page: null, next_page: 2, last_page: 2 },
      total_entries: 3,
    });
    expect(await names('per_page=2&page=2')).to.deep.equal(['c']);
    expectRefusal(await get('/v1/volumes?per_page=51'), 'badInput', 'per_page');
  });

  it('selects by labels', () => {
    const labels = { tier: 'db', 'svc.io/a': '' };
    for (const selector of ['tier', 'tier=db', 'tier==db', 'tier!=web', '!x', 'svc.io/a', 'x!=1'])
      expect(selects(selector, labels), selector).to.equal(true);
    for (const selector of ['x', '!tier', 'tier=web', 'tier,x', 'tier!=db'])
      expect(selects(selector, labels), selector).to.equal(false);
  });

  it('answers several actions at once', async () => {
    const id = await made('a');
    const { id: resize } = actionOf(await act(id, 'resize', { size: 20 }));
    const { body } = await get(`/v1/actions?id=13&id=${resize}`);
    const found = body['actions'] as readonly { id: number; status: string }[];
    expect(found.map(({ status }) => status)).to.deep.equal(['success', 'running']);
    expectRefusal(await get('/v1/actions'), 'badInput', 'id');
  });

  it('ends a pending action and continues its ids after a restart', async () => {
    const options = { provider: 'cloud2', instances, tokens, clock } as const;
    const before = createEmulator(options);
    emulator = before.emulator;
    const id = await made('a');
    await act(id, 'attach', { server: here });
    const saved: unknown = JSON.parse(JSON.stringify(before.machine.save()));
    await emulator.close();
    await clock.advance(5_000);
    ({ emulator } = createEmulator({ ...options, saved }));
    expect(await emulator.inventory()).to.include(`attached ${id} to node-1`);
    expect(await made('b')).to.equal(id + 1);
  });

  it('keeps its rules in any order of the calls', async () => {
    const step = fc.record({
      kind: fc.constantFrom('create', 'attach', 'detach', 'resize', 'delete', 'wait', 'protect'),
      volume: fc.nat(3),
      server: fc.constantFrom<number>(here, there),
      size: fc.integer({ min: 10, max: 14 }),
      protect: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        clock = new FakeClock();
        devices = new RecordedDevices();
        ({ emulator } = createEmulator({ provider: 'cloud2', instances, clock, devices }));
        const ids = new Map<number, number>();
        for (const { kind, volume: n, server, size, protect } of steps) {
          const id = ids.get(n) ?? 1;
          if (kind === 'create') {
            const answer = await post('/v1/volumes', { ...order, name: `v${n}`, size });
            expect(answer.status).to.equal(ids.has(n) ? 409 : 201);
            if (!ids.has(n)) ids.set(n, (answer.body['volume'] as { id: number }).id);
          } else if (kind === 'wait') await clock.advance(500);
          else if (kind === 'delete') {
            const { status } = await remove(id);
            if (status === 204) ids.delete(n);
          } else {
            const body = { attach: { server }, resize: { size }, protect: { delete: protect } };
            const command = kind === 'protect' ? 'change_protection' : kind;
            const given = kind === 'detach' ? undefined : body[kind];
            const { status } = await act(id, command, given);
            expect(status).to.be.oneOf([201, 404, 409, 422, 423]);
          }
          const running = emulator.actions.filter(({ status }) => status === 'running');
          const locks = running.flatMap(({ locks: held }) => held);
          expect(new Set(locks).size, 'a lock is held once').to.equal(locks.length);
        }
        await clock.advance(1_000);
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
