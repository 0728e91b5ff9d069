import { expect } from 'chai';
import type { JsonObject } from '../../rpc/index.js';
import { serve } from '../api/served-kind.js';
import {
  type House,
  type Lamp,
  lamps,
  nextName,
  note,
  notes,
  openHouse,
  there,
  verdictOf,
} from './object-service-house.test.js';
import { recordedObjects } from './recorded-sets.js';

describe('the audit record of a transaction', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
  });
  beforeEach(() => {
    house.audited.length = 0;
  });
  after(() => house[Symbol.asyncDispose]());
  const lamp = (): Promise<Lamp> =>
    house.store.create(lamps, { ...there, namespace: 'home', name: nextName() });
  const on = ({ name }: Lamp, rest: JsonObject): JsonObject => ({
    kind: 'Lamp',
    namespace: 'home',
    name,
    ...rest,
  });
  const checkOf = (of: Lamp): JsonObject =>
    on(of, { type: 'CHECK', precondition: { uid: of.metadata.uid } });
  const bytes = (): number => JSON.stringify(house.audited).length;

  it('has an entry for each operation, with the outcome of all', async () => {
    const stored = await lamp();
    await house.transact('everything', [
      note(nextName()),
      checkOf(stored),
      on(stored, { type: 'UPDATE_STATUS', object: '{"on":true}' }),
      on(stored, { type: 'DELETE_BY_NAME' }),
    ]);
    await verdictOf(house.transact('nobody', [on(stored, { type: 'DELETE_BY_NAME' })]));
    const seen = house.audited.map(({ verb, resource, namespace, name, code, operations }) =>
      [
        verb,
        resource,
        namespace,
        name === stored.name ? 'it' : 'note',
        code,
        `of ${operations}`,
      ].join(' '),
    );
    expect(seen).to.deep.equal([
      'create notes home note OK of 4',
      'get lamps home it OK of 4',
      'update lamps/status home it OK of 4',
      'delete lamps home it OK of 4',
      'delete lamps home it PermissionDenied of 1',
    ]);
    expect(new Set(house.audited.slice(0, 4).map(({ requestId }) => requestId)).size).to.equal(1);
  });

  it('is bounded if the transaction is refused, for any request and caller', async () => {
    const deletion = (name: string): JsonObject => ({
      type: 'DELETE_BY_NAME',
      kind: 'Lamp',
      namespace: 'home',
      name,
    });
    const check = { type: 'CHECK', kind: 'Lamp', name: 'x', precondition: { absent: true } };
    const long = 'x'.repeat(100_000);
    const refused: readonly (readonly [string, readonly JsonObject[]])[] = [
      ['nobody', Array<JsonObject>(1_000).fill(deletion('x'))],
      [
        'nobody',
        [...Array<JsonObject>(1_000).fill(deletion('x')), ...Array<JsonObject>(10_000).fill(check)],
      ],
      ['everything', Array<JsonObject>(900).fill(deletion('none'))],
      ['everything', [...Array.from({ length: 900 }, () => note(nextName())), { type: 'CREATE' }]],
      // Each takes two bytes in the message: a request of 4 MiB has two million of them.
      ['nobody', Array<JsonObject>(12_000).fill({})],
      ['nobody', Array<JsonObject>(20).fill({ ...deletion(long), namespace: long })],
    ];
    for (const [subject, operations] of refused) {
      house.audited.length = 0;
      const verdict = await verdictOf(house.transact(subject, operations));
      expect(verdict).to.not.equal('OK');
      expect(house.audited.length).to.be.within(1, 5);
      expect(bytes()).to.be.below(16_384);
      for (const entry of house.audited) {
        expect(`${entry.code} ${entry.reason}`).to.equal(verdict);
        expect([entry.subject, entry.operations]).to.deep.equal([subject, operations.length]);
      }
    }
  });

  it('has each object that an accepted one wrote, once, and the first few of its checks', async () => {
    const [stored, other] = [await lamp(), await lamp()];
    const names = Array.from({ length: 500 }, nextName);
    const repeated = Array<JsonObject>(400).fill(
      on(stored, { type: 'UPDATE_STATUS', object: '{"on":true}' }),
    );
    await house.transact('everything', [
      ...names.map(note),
      ...repeated,
      ...Array<JsonObject>(3_000).fill(checkOf(other)),
    ]);
    const of = (verb: string) => house.audited.filter((entry) => entry.verb === verb);
    expect(of('create').map(({ name }) => name)).to.deep.equal(names);
    expect(of('update').map(({ name }) => name)).to.deep.equal([stored.name]);
    expect(of('get').length).to.be.within(1, 5);
    expect(house.audited.length).to.be.at.most(506);
    expect(house.audited[0]?.operations).to.equal(3_900);
  });
});

describe('the audit record of a cast', () => {
  const served = new Map([['Note', serve(notes, 'house.v1.Note')]]);

  it('has each object of an accepted one, and the first few of a refused one', () => {
    const names = Array.from({ length: 60 }, nextName);
    const objects = names.map((name) => ({ kind: 'Note', object: { namespace: 'home', name } }));
    const record = (code: 'OK' | 'PermissionDenied') =>
      recordedObjects(served, { objects }, code).map(({ name }) => name);
    expect(record('OK')).to.deep.equal(names);
    expect(record('PermissionDenied')).to.deep.equal(names.slice(0, 5));
    const [first] = recordedObjects(served, { objects: [{ kind: 'Cat' }, 1] }, 'InvalidArgument');
    expect(first).to.deep.include({ resource: '', verb: 'cast', operations: 2 });
    expect(recordedObjects(served, {}, 'InvalidArgument').length).to.equal(1);
  });
});

describe('the audit record of a malformed request', () => {
  it('has its caller, method and reason, regardless of the malformed part', async () => {
    await using house = await openHouse();
    const base = `http://127.0.0.1:${house.ports.rest}/v1/namespaces/home/lamps`;
    const headers = { authorization: 'Bearer updater', 'content-type': 'application/json' };
    const post = (body: string) => fetch(base, { method: 'POST', headers, body });
    for (const [call, method, reason] of [
      [() => post('{'), 'Create', 'MalformedBody'],
      [() => post('{"a":{"__proto__":1}}'), 'Create', 'MalformedBody'],
      [() => fetch(`${base}?colour=red`, { headers }), 'List', 'ValidationFailed'],
      [() => fetch(`${base}?watch=true&colour=red`, { headers }), 'List', 'ValidationFailed'],
    ] as const) {
      house.audited.length = 0;
      expect((await call()).status).to.equal(400);
      expect(
        house.audited.map((entry) => [entry.subject, entry.method, entry.reason]),
      ).to.deep.equal([['updater', `LampService.${method}`, reason]]);
    }
  });
});
