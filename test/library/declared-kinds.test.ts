import { expect } from 'chai';
import {
  boolean,
  type Condition,
  conditions,
  dateTime,
  declareKind,
  enumeration,
  hasCode,
  int32,
  int64,
  json,
  list,
  Manager,
  map,
  object,
  optional,
  setCondition,
  SharedInformer,
  string,
} from 'kedge';
import { mount } from 'kedge/server';
import { eventually } from 'kedge/testing';
import { DeclaredApi, type RestAnswer } from './declared-api.js';

const disks = declareKind({
  kind: 'Disk',
  plural: 'disks',
  scope: 'Namespaced',
  fields: {
    bytes: int64({ maximum: 2 ** 50, description: 'Its size.' }),
    replicas: int32({ default: 3, minimum: 1, maximum: 9 }),
    spares: optional(int32({ minimum: 1 })),
    label: string({ pattern: '^[a-z]+(-[a-z]+)?$', maxLength: 20 }),
    password: string({ sensitive: true, format: 'dns-label' }),
    parts: list(object({ name: string({ required: true }), sizes: list(int64()) }), {
      maxItems: 3,
    }),
    tags: list(string({ format: 'dns-label' })),
    links: map(object({ to: string(), weight: int64() })),
    place: object({ rack: string({ immutable: true }), row: int32() }),
    history: json<readonly Condition[]>(),
    since: dateTime(),
    sealed: boolean({ required: true }),
  },
  status: {
    ready: boolean(),
    used: int64(),
    phase: enumeration(['Ready', 'Lost']),
    notes: list(string()),
    conditions: conditions(),
  },
  indexes: { tag: (disk) => disk.tags.map((tag) => tag.toUpperCase()) },
});
const where = { namespace: 'default', name: 'one' };
const path = '/namespaces/default/disks';
const fiveGiB = 5 * 1024 ** 3;
const violations = ({ body }: RestAnswer): Readonly<Record<string, string>> => {
  const details = body.details as readonly { fieldViolations?: readonly Violation[] }[];
  const all = details.flatMap(({ fieldViolations = [] }) => fieldViolations);
  return Object.fromEntries(all.map(({ field, description }) => [field, description]));
};
interface Violation {
  readonly field: string;
  readonly description: string;
}
const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('a declared kind behind gRPC and REST', function () {
  this.timeout(180_000);
  let api: DeclaredApi;
  beforeEach(async () => (api = await DeclaredApi.start(disks)));
  afterEach(() => api[Symbol.asyncDispose]());
  const remote = () => api.client.resource(disks);

  it('5 GiB are a number everywhere: stored, over gRPC and REST, in lists, watches and selectors', async () => {
    const { store } = api;
    const parts = [{ name: 'a', sizes: [fiveGiB] }];
    await store.create(disks, { ...where, bytes: fiveGiB, parts, sealed: false });
    const read = await remote().get(where);
    expect([read?.bytes, read?.parts[0]?.sizes]).to.deep.equal([fiveGiB, [fiveGiB]]);
    expect((await remote().list()).items[0]?.bytes).to.equal(fiveGiB);
    const rest = await api.rest('GET', `${path}/one`);
    expect(rest.body.bytes).to.equal(fiveGiB);
    expect(
      (await api.rest('GET', `${path}?fieldSelector=bytes=${fiveGiB}`)).body.items,
    ).to.have.length(1);
    // proto3 JSON represents 64-bit integers as text.
    const text = await api.rest('PUT', `${path}/one`, { ...rest.body, bytes: String(2 ** 40) });
    expect(text.body.bytes).to.equal(2 ** 40);
    const large = await api.rest('PUT', `${path}/one`, { ...rest.body, bytes: 2 ** 51 });
    expect(violations(large)).to.have.keys('bytes');
    const used = await remote().updateStatus(where, { used: fiveGiB });
    expect(used.used).to.equal(fiveGiB);
  });

  it('a list in a json field, the conditions of the library, survives GET then PUT', async () => {
    const history = setCondition(
      [],
      { type: 'Ready', status: 'True', reason: 'Up', message: '' },
      'now',
    );
    await api.store.create(disks, { ...where, history, sealed: true });
    const read = await api.rest('GET', `${path}/one`);
    expect(read.body.history).to.deep.equal(history);
    const put = await api.rest('PUT', `${path}/one`, { ...read.body, replicas: 5 });
    expect(put.body.history).to.deep.equal(history);
    const grpc = await remote().get(where);
    expect((await remote().update({ ...grpc!, replicas: 6 })).history).to.deep.equal(history);
    expect((await api.store.get(disks, where))?.history).to.deep.equal(history);
    for (const free of ['text', 7, true, [[1], {}], { a: [] }]) {
      const kept = await api.rest('PUT', `${path}/one`, {
        ...read.body,
        metadata: {},
        history: free,
      });
      expect(kept.body.history).to.deep.equal(free);
      expect((await remote().get(where))?.history).to.deep.equal(free);
    }
  });

  it('0 is refused where the minimum is 1, over both transports, and absent stays absent', async () => {
    const body = { ...where, sealed: false };
    for (const [given, fields] of [
      [{ replicas: 0 }, ['replicas']],
      [{ spares: 0 }, ['spares']],
      [{ replicas: 0, spares: 0 }, ['replicas', 'spares']],
    ] as const) {
      const rest = await api.rest('POST', path, { ...body, ...given });
      expect(Object.keys(violations(rest))).to.deep.equal(fields);
      const grpc = await errorOf(remote().create({ ...body, ...given }));
      expect(hasCode(grpc, 'InvalidArgument'), String(grpc)).to.equal(true);
      expect(String(grpc)).to.contain(fields[0]);
    }
    const made = await remote().create(body);
    expect(made.replicas).to.equal(3);
    expect(made).to.not.have.property('spares');
    expect((await remote().update({ ...made, spares: 1 })).spares).to.equal(1);
  });

  it('a required boolean is given explicitly: false counts, absent does not', async () => {
    expect(violations(await api.rest('POST', path, { name: 'one' }))).to.deep.equal({
      sealed: 'is required',
    });
    const grpc = await errorOf(remote().create({ ...where, sealed: undefined as never }));
    expect(String(grpc)).to.contain('sealed');
    expect((await remote().create({ ...where, sealed: false })).sealed).to.equal(false);
  });

  it('all violations are reported in one answer, unknown fields by name, with the full path', async () => {
    const answer = await api.rest('POST', path, {
      name: 'Bad Name',
      bytes: 1.5,
      replicas: 10,
      label: 'UPPER',
      parts: [{ name: 'a' }, { nam: 'b', sizes: ['x'] }],
      tags: ['ok', 'Not ok'],
      links: { a: { too: 'b' } },
      place: { row: 2 ** 31, rackk: '' },
      since: 'yesterday',
      colour: 'red',
    });
    expect(answer.status).to.equal(400);
    expect(Object.keys(violations(answer)).sort()).to.deep.equal(
      [
        'name',
        'bytes',
        'replicas',
        'label',
        'parts[1].name',
        'parts[1].nam',
        'parts[1].sizes[0]',
        'tags[1]',
        'links.a.too',
        'place.row',
        'place.rackk',
        'since',
        'colour',
        'sealed',
      ].sort(),
    );
    const many = {
      name: 'one',
      sealed: true,
      parts: Array.from({ length: 4 }, () => ({ name: 'a' })),
    };
    expect(violations(await api.rest('POST', path, many))).to.have.keys('parts');
  });

  it('no refusal quotes a sensitive value', async () => {
    const secret = 'Hunter 2 !';
    const answer = await api.rest('POST', path, { name: 'one', sealed: true, password: secret });
    expect(violations(answer)).to.have.keys('password');
    expect(JSON.stringify(answer.body)).to.not.contain(secret);
  });

  it('an immutable field of a nested object can not be changed', async () => {
    const made = await remote().create({ ...where, sealed: true, place: { rack: 'r1' } });
    const refused = await api.rest('PUT', `${path}/one`, {
      name: 'one',
      sealed: true,
      place: { rack: 'r2' },
    });
    expect(violations(refused)['place.rack']).to.contain('is immutable');
    const moved = await remote().update({ ...made, place: { rack: 'r1', row: 4 } });
    expect(moved.place).to.deep.equal({ rack: 'r1', row: 4 });
  });

  it('status is set to false, 0, nothing and an empty list over gRPC as over REST, and validated', async () => {
    await api.store.create(disks, { ...where, sealed: true });
    const full = { ready: true, used: 7, phase: 'Ready', notes: ['a'] } as const;
    const set = await remote().updateStatus(where, full);
    expect(set).to.deep.include(full);
    const empty = await remote().updateStatus(where, { ready: false, used: 0, notes: [] });
    expect(empty).to.deep.include({ ready: false, used: 0, notes: [], phase: 'Ready' });
    await remote().updateStatus(where, full);
    const rest = await api.rest('PUT', `${path}/one/status`, {
      ready: false,
      notes: [],
      used: '9',
    });
    expect(rest.body).to.deep.include({ ready: false, used: 9, notes: [], phase: 'Ready' });
    const wrong = await api.rest('PUT', `${path}/one/status?updateMask=bytes`, {
      used: 'x',
      phase: 'Odd',
    });
    expect(violations(wrong)).to.have.keys('updateMask', 'used', 'phase');
  });

  it('an omitted or empty list is [] for index functions and caches, local and remote', async () => {
    await using manager = await started(api);
    const informer = manager.informer;
    await api.rest('POST', path, { name: 'absent', sealed: true });
    await api.rest('POST', path, { name: 'empty', sealed: true, tags: [] });
    await remote().create({ ...where, name: 'grpc', sealed: true, tags: [] });
    await remote().create({ ...where, name: 'tagged', sealed: true, tags: ['a'] });
    const far = new SharedInformer({ source: remote().source(), name: 'far' });
    for (const [name, of] of Object.entries(disks.indexes)) if (of) far.addIndex(name, of);
    far.start();
    await eventually('four disks', () => far.lister.list().length === 4);
    await remote().create({ ...where, name: 'later', sealed: true });
    await eventually('five disks', () => far.lister.list().length === 5);
    for (const lister of [informer.lister, far.lister]) {
      const tags = lister.list().map((disk) => [disk.name, disk.tags] as const);
      expect(Object.fromEntries(tags)).to.deep.equal({
        absent: [],
        empty: [],
        grpc: [],
        later: [],
        tagged: ['a'],
      });
      expect(lister.byIndex('tag', 'A')).to.have.length(1);
    }
    await far.close();
  });

  it('properties of JavaScript objects are ordinary keys, and __proto__ is refused or dropped', async () => {
    const links = { constructor: { to: 'a' }, toString: { to: 'b' }, hasOwnProperty: { to: 'c' } };
    const body = { name: 'one', sealed: true, links, history: { constructor: 1 } };
    const made = await api.rest('POST', path, body);
    expect(Object.keys(made.body.links as object)).to.have.members(Object.keys(links));
    expect((await remote().get(where))?.history).to.deep.equal({ constructor: 1 });
    for (const field of ['links', 'history']) {
      const text = `{"name":"two","sealed":true,"${field}":{"__proto__":{"to":"x"}}}`;
      expect((await api.rest('POST', path, text)).status).to.equal(400);
    }
    const hostile = JSON.parse('{"__proto__":{"polluted":true}}') as never;
    await errorOf(
      remote().create({ ...where, name: 'two', sealed: true, history: hostile, links: hostile }),
    );
    const stored = await api.store.get(disks, { ...where, name: 'two' });
    for (const value of [{}, stored ?? {}, stored?.links ?? {}, stored?.history ?? {}])
      expect((value as { polluted?: boolean }).polluted).to.equal(undefined);
  });

  it('JSON is bounded in depth over both transports', async () => {
    const nested = (levels: number): never => {
      let value: unknown = 1;
      for (let n = 0; n < levels; n += 1) value = [value];
      return value as never;
    };
    const made = await api.rest('POST', path, { name: 'one', sealed: true, history: nested(30) });
    expect(made.status, JSON.stringify(made.body)).to.be.within(200, 201);
    expect((await remote().get(where))?.history).to.deep.equal(nested(30));
    expect((await remote().list()).items).to.have.length(1);
    const body = { ...where, name: 'two', sealed: true };
    for (const levels of [32, 40]) {
      const history = nested(levels);
      expect(violations(await api.rest('POST', path, { ...body, history }))).to.have.keys(
        '(object)',
      );
      const grpc = await errorOf(remote().create({ ...body, history }));
      expect(hasCode(grpc, 'InvalidArgument'), String(grpc)).to.equal(true);
    }
    for (const levels of [100, 20_000])
      expect(await errorOf(remote().create({ ...body, history: nested(levels) }))).to.be.an(
        'error',
      );
  });

  it('text longer than the limit of its pattern is refused without matching it', async () => {
    const label = 'a'.repeat(1_000_000);
    const begun = performance.now();
    const answer = await api.rest('POST', path, { name: 'one', sealed: true, label });
    expect(violations(answer)).to.have.keys('label');
    expect(performance.now() - begun).to.be.below(10_000);
  });

  it('the OpenAPI document matches the declaration', async () => {
    const document = (await api.rest('GET', '/openapi.json')).body as {
      components: { schemas: Record<string, { properties: Record<string, object> }> };
    };
    const { properties } = document.components.schemas['v1.Disk']!;
    expect(properties.bytes).to.deep.include({
      type: 'integer',
      maximum: 2 ** 50,
      description: 'Its size.',
    });
    expect(properties.replicas).to.deep.include({ default: 3, minimum: 1, maximum: 9 });
    expect(properties.history).to.deep.equal({});
    expect(properties.ready).to.deep.equal({ type: 'boolean', readOnly: true });
    expect(properties.parts).to.deep.include({ maxItems: 3 });
    expect(properties.label).to.deep.include({ pattern: '^[a-z]+(-[a-z]+)?$', maxLength: 20 });
  });

  it('rules receive the object in its type, with status', async () => {
    const seen: unknown[] = [];
    await using judged = await DeclaredApi.start(
      mount(disks, {
        prepare: (_context, disk) => {
          seen.push([disk.tags.length, disk.notes.length, disk.replicas, disk.ready]);
          return Promise.resolve(disk);
        },
      }),
    );
    const made = await judged.client.resource(disks).create({ ...where, sealed: true });
    await judged.store.updateStatus(disks, where, { notes: ['a'], ready: true });
    await judged.client
      .resource(disks)
      .update({ ...made, metadata: { ...made.metadata, resourceVersion: '' } })
      .catch(() => undefined);
    await judged.rest('PUT', `${path}/one`, { name: 'one', sealed: false });
    expect(seen[0]).to.deep.equal([0, 0, 3, false]);
    expect(seen.at(-1)).to.deep.equal([0, 1, 3, true]);
    expect(await judged.store.get(disks, where)).to.deep.include({ ready: true, sealed: false });
  });
});

/** A manager with a running informer of disks. */
async function started({ store }: DeclaredApi) {
  const manager = new Manager({ store });
  const informer = manager.informer(disks);
  await manager.start();
  return { informer, [Symbol.asyncDispose]: () => manager.stop(100) };
}
