import { expect } from 'chai';
import { StatusError } from '../../base/index.js';
import type { JsonObject } from '../../rpc/index.js';
import type { EmbeddedStore } from '../../store/index.js';
import {
  type House,
  type Lamp,
  lamps,
  nextName,
  note,
  notes,
  openHouse,
  rights,
  there,
  verdictOf,
} from './object-service-house.test.js';

describe('transactions of the object service', () => {
  let house: House;
  let store: EmbeddedStore;
  before(async () => {
    house = await openHouse();
    ({ store } = house);
  });
  after(() => house[Symbol.asyncDispose]());
  const client = (subject: string, generic: boolean) => house.client(subject, generic);
  const transact = (subject: string, operations: readonly JsonObject[]) =>
    house.transact(subject, operations);
  /** Stores a lamp under an unused name. */
  async function lamp(object: Partial<Lamp> = {}): Promise<Lamp> {
    const key = { namespace: 'home', name: nextName() };
    return store.create(lamps, { ...there, ...object, ...key });
  }
  const on = (of: Lamp, rest: JsonObject): JsonObject => ({
    kind: 'Lamp',
    namespace: 'home',
    name: of.name,
    ...rest,
  });
  const check = (of: Lamp, precondition: JsonObject): JsonObject =>
    on(of, { type: 'CHECK', precondition });
  const failure = (call: Promise<unknown>): Promise<StatusError> =>
    call.then(
      () => expect.fail('it was not refused'),
      (error: unknown) => StatusError.from(error),
    );

  it('a check needs the right to read, regardless of its content and result', async () => {
    const stored = await lamp();
    const { uid, resourceVersion } = stored.metadata;
    const absent = { type: 'CHECK', kind: 'Lamp', namespace: 'home', name: 'none' };
    for (const subject of ['nobody', 'creator', 'updater', 'deleter', 'stator', 'elsewhere'])
      for (const operation of [
        check(stored, { uid }),
        check(stored, { uid: 'other' }),
        check(stored, { resourceVersion }),
        check(stored, { fields: { watts: '40' } }),
        check(stored, { fields: { watts: '41' } }),
        { ...absent, precondition: { absent: true } },
        check(stored, { absent: true }),
      ])
        expect(await verdictOf(transact(subject, [operation])), subject).to.equal(
          'PermissionDenied PermissionDenied',
        );
    const read = (precondition: JsonObject) =>
      verdictOf(transact('reader', [check(stored, precondition)]));
    expect(await read({ uid, resourceVersion })).to.equal('OK');
    expect(await read({ fields: { watts: '40', 'metadata.generation': '1' } })).to.equal('OK');
    expect(await read({ uid: 'other' })).to.equal('Aborted Conflict');
    expect(await read({ fields: { watts: '41' } })).to.equal('Aborted Conflict');
    expect(await read({ absent: true })).to.equal('Aborted Conflict');
    expect(
      await verdictOf(transact('reader', [{ ...absent, precondition: { absent: true } }])),
    ).to.equal('OK');
  });

  it('a value in the guard of a write needs the right to read too', async () => {
    const stored = await lamp();
    const fields = (value: string) => ({ precondition: { fields: { watts: value } } });
    for (const value of ['40', '41'])
      for (const [subject, rest] of [
        ['deleter', { type: 'DELETE_BY_NAME' }],
        ['stator', { type: 'UPDATE_STATUS', object: '{"on":true}' }],
      ] as const)
        expect(
          await verdictOf(transact(subject, [on(stored, { ...rest, ...fields(value) })])),
          subject,
        ).to.equal('PermissionDenied PermissionDenied');
    const status = { type: 'UPDATE_STATUS', object: '{"on":true}' };
    const asked = (value: string) =>
      verdictOf(transact('everything', [on(stored, { ...status, ...fields(value) })]));
    expect(await asked('41')).to.equal('Aborted Conflict');
    expect(await asked('40')).to.equal('OK');
  });

  it('a hidden value cannot be guessed by checks, and no answer or error contains it', async () => {
    const stored = await lamp({ code: 'hunter2' });
    const guess = (subject: string, code: string) =>
      failure(transact(subject, [check(stored, { fields: { code: JSON.stringify(code) } })]));
    for (const code of ['hunter2', 'hunter3', '***']) {
      const error = await guess('reader', code);
      expect(error.code).to.equal('PermissionDenied');
      expect(error.message)
        .to.match(/code can't be compared/)
        .and.not.contain('hunter');
    }
    // A caller that may read the value may compare it; the mask discloses nothing.
    expect((await guess('everything', 'hunter3')).code).to.equal('Aborted');
    expect((await guess('everything', 'hunter3')).message).to.not.contain('hunter');
    expect((await guess('everything', '***')).code).to.equal('InvalidArgument');
    const answer = await transact('everything', [
      check(stored, { fields: { code: '"hunter2"' } }),
      on(stored, { type: 'UPDATE_STATUS', object: '{"on":true}' }),
    ]);
    expect(JSON.stringify(answer)).to.contain('***');
    expect(JSON.stringify(answer)).to.not.contain('hunter2');
    const got = await client('everything', true).call('ObjectService.Get', {
      kind: 'Lamp',
      namespace: 'home',
      name: stored.name,
    });
    expect(got.object).to.contain('***');
    expect(got.object).to.not.contain('hunter2');
  });

  it('finalizers, owner references and expiry are written only by callers with the right to them', async () => {
    const owner = { kind: 'Room', name: 'hall', uid: 'u1' };
    const parts = [
      ['finalizers', { finalizers: ['house/one'] }],
      ['ownerreferences', { ownerReferences: [owner] }],
      ['expiry', { expiresAt: '2999-01-01T00:00:00.000Z' }],
    ] as const;
    for (const [right, metadata] of parts) {
      const all = ['create lamps *', 'update lamps *'];
      Object.assign(rights, { part: [...all, `update lamps/${right} *`], whole: all });
      const create = (name: string): JsonObject => ({
        type: 'CREATE',
        kind: 'Lamp',
        namespace: 'home',
        name,
        object: JSON.stringify({ name, room: 'hall', metadata }),
      });
      const names = [nextName(), nextName()] as const;
      expect(await verdictOf(transact('whole', [create(names[0])])), right).to.equal(
        'PermissionDenied PermissionDenied',
      );
      expect(await verdictOf(transact('part', [create(names[1])])), right).to.equal('OK');
      const stored = (await store.get(lamps, { namespace: 'home', name: names[1] }))!;
      expect(stored.metadata).to.deep.include(metadata);
      const overwrite = (content: JsonObject): JsonObject =>
        on(stored, {
          type: 'OVERWRITE',
          object: JSON.stringify({ room: 'hall', watts: 50, metadata: content }),
        });
      // An unchanged or absent part needs no right.
      expect(await verdictOf(transact('whole', [overwrite(metadata)])), right).to.equal('OK');
      expect(await verdictOf(transact('whole', [overwrite({})])), right).to.equal('OK');
      const empty = Object.fromEntries(
        Object.entries(metadata).map(([name, value]) => [
          name,
          Array.isArray(value) ? [] : '2998-01-01T00:00:00.000Z',
        ]),
      );
      expect(await verdictOf(transact('whole', [overwrite(empty)])), right).to.equal(
        'PermissionDenied PermissionDenied',
      );
      const kept = (await store.get(lamps, { namespace: 'home', name: names[1] }))!;
      expect(kept.metadata).to.deep.include(metadata);
      expect(await verdictOf(transact('part', [overwrite(empty)])), right).to.equal('OK');
    }
  });

  it('an operation sees the effects of earlier ones, and all are committed or none', async () => {
    const name = nextName();
    const at = (type: string, rest: JsonObject = {}): JsonObject => ({
      type,
      kind: 'Lamp',
      namespace: 'home',
      name,
      ...rest,
    });
    const object = (watts: number) => ({ object: JSON.stringify({ name, room: 'hall', watts }) });
    const before = store.revision;
    const made13 = [at('CREATE', object(40)), at('OVERWRITE', object(13))];
    expect(await verdictOf(transact('everything', made13))).to.equal(
      'InvalidArgument ValidationFailed',
    );
    expect(store.revision).to.equal(before);
    const answer = await transact('everything', [
      at('CHECK', { precondition: { absent: true } }),
      at('CREATE', object(40)),
      at('UPDATE_STATUS', { object: '{"on":true}' }),
      at('CHECK', { precondition: { fields: { on: 'true', watts: '40' } } }),
      at('OVERWRITE', object(50)),
      at('DELETE_BY_NAME'),
      at('CHECK', { precondition: { absent: true } }),
      at('CREATE', object(60)),
    ]);
    expect(store.revision).to.equal(before + 1);
    expect((answer.results as readonly unknown[]).length).to.equal(8);
    expect((await store.get(lamps, { namespace: 'home', name }))?.watts).to.equal(60);
  });

  it('a write between the validation of a check and its commit is detected', async () => {
    const stored = await lamp();
    const name = nextName();
    const held = store.transact.bind(store);
    const between = async (): Promise<void> => {
      store.transact = held;
      const key = { namespace: 'home', name: stored.name };
      await store.overwrite(lamps, { ...there, ...key, watts: 99 });
    };
    store.transact = async (operations) => {
      await between();
      return held(operations);
    };
    const operations = [check(stored, { fields: { watts: '40' } }), note(name)];
    expect(await verdictOf(transact('everything', operations))).to.equal('Aborted Conflict');
    expect(await store.get(notes, { namespace: 'home', name })).to.equal(undefined);
  });

  it('validated rules hold inside the commit, regardless of concurrent writes', async () => {
    const stored = await lamp({ watts: 20 });
    const guarded = async (): Promise<void> => {
      for (;;) {
        const now = (await store.get(lamps, { namespace: 'home', name: stored.name }))!;
        const object = JSON.stringify({ room: 'hall', watts: now.watts + 1 });
        const verdict = await verdictOf(
          transact('everything', [
            check(stored, { fields: { watts: String(now.watts) } }),
            on(stored, { type: 'OVERWRITE', object }),
          ]),
        );
        if (verdict === 'OK') return;
        expect(verdict).to.equal('Aborted Conflict');
      }
    };
    await Promise.all(Array.from({ length: 12 }, guarded));
    const { watts } = (await store.get(lamps, { namespace: 'home', name: stored.name }))!;
    expect(watts).to.equal(32);
  });

  it('records of elections and controllers need rights of their own, which no caller has by default', async () => {
    const lease = { name: 'l', holderIdentity: 'me', leaseTransitions: 1 };
    const record = { name: 'c:home/a', controller: 'c', key: 'home/a', dueAt: 1.7e12 };
    const calls = {
      name: 'uid-1',
      of: 'Lamp',
      key: 'home/a',
      effects: {
        make: {
          phase: 'pending',
          operationId: '7',
          idempotencyKey: 'k',
          controller: 'c',
          key: 'k',
          startedAt: 1.7e12,
        },
      },
    };
    for (const [kind, plural, object] of [
      ['Lease', 'leases', lease],
      ['ReconcileRecord', 'reconcilerecords', record],
      ['EffectRecord', 'effectrecords', calls],
    ] as const) {
      const { name } = object;
      const create = { type: 'CREATE', kind, name, object: JSON.stringify(object) };
      const reads = [
        ['ObjectService.Get', { kind, name }],
        ['ObjectService.List', { kind }],
      ] as const;
      for (const subject of ['nobody', 'creator', 'updater', 'athome', 'elsewhere']) {
        expect(await verdictOf(transact(subject, [create])), subject).to.equal(
          'PermissionDenied PermissionDenied',
        );
        for (const [method, request] of reads)
          expect(await verdictOf(client(subject, true).call(method, request))).to.equal(
            'PermissionDenied PermissionDenied',
          );
      }
      Object.assign(rights, { holder: [`create ${plural} *`, `get ${plural} *`] });
      expect(await verdictOf(transact('holder', [create]))).to.equal('OK');
      const { object: text } = await client('holder', true).call(...reads[0]);
      expect(JSON.parse(String(text))).to.deep.include(object);
      expect(
        await verdictOf(
          transact('holder', [{ ...create, object: JSON.stringify({ ...object, more: 1 }) }]),
        ),
      ).to.equal('InvalidArgument ValidationFailed');
    }
  });

  it('the answer to small operations on large objects is bounded in memory', async () => {
    const large = await lamp({ room: 'x'.repeat(1_000_000) });
    const { uid } = large.metadata;
    const first = on(large, { type: 'UPDATE_STATUS', object: '{"on":true}' });
    const checks = (count: number) => Array<JsonObject>(count).fill(check(large, { uid }));
    expect(await verdictOf(transact('everything', [first, ...checks(40)]))).to.equal(
      'InvalidArgument TransactionTooLarge',
    );
    expect((await store.get(lamps, large))?.on).to.equal(undefined);
    expect(await verdictOf(transact('everything', [first, ...checks(20)]))).to.equal('OK');
    await store.deleteByName(lamps, large);
  });

  it('a caller with access to certain objects sees neither others nor their earlier state', async () => {
    const mine = await lamp();
    const foreign = await lamp({ labels: { owner: 'ann' }, watts: 77 });
    expect(
      await verdictOf(transact('narrowed', [check(foreign, { uid: foreign.metadata.uid })])),
    ).to.equal('PermissionDenied PermissionDenied');
    const { objects } = await client('narrowed', true).call('ObjectService.List', {
      kind: 'Lamp',
      namespace: '-',
    });
    const listed = (objects as readonly string[]).map((text) => (JSON.parse(text) as Lamp).name);
    expect(listed).to.include(mine.name);
    expect(listed).to.not.include(foreign.name);
    const stop = new AbortController();
    const request = {
      kind: 'Lamp',
      namespace: 'home',
      cursor: `${store.revision}.${store.storeId}`,
      previous: true,
    };
    const stream = client('narrowed', true).stream('ObjectService.Watch', request, stop.signal);
    await store.update(lamps, { ...foreign, watts: 78 });
    const now = (await store.get(lamps, { namespace: 'home', name: foreign.name }))!;
    await store.update(lamps, { ...now, labels: { owner: 'narrowed' }, watts: 79 });
    const texts: string[] = [];
    for await (const { events } of stream) {
      texts.push(...(events as readonly JsonObject[]).map((event) => JSON.stringify(event)));
      if (texts.length > 0) stop.abort();
    }
    expect(texts.length).to.equal(1);
    const event = JSON.parse(texts[0]!) as { type: string; object: string; previous?: string };
    expect([event.type, event.previous ?? '']).to.deep.equal(['ADDED', '']);
    expect((JSON.parse(event.object) as Lamp).watts).to.equal(79);
  });

  it('refuses malformed requests by the name of the field, and too many operations', async () => {
    const messages = async (operation: JsonObject): Promise<string> => {
      const error = await failure(transact('everything', [operation]));
      return `${error.reason}: ${error.violations.map(({ field }) => field).join(' ')}`;
    };
    const base = { kind: 'Lamp', namespace: 'home', name: 'x' };
    const at = 'operations[0]';
    for (const [operation, expected] of [
      [{ ...base }, `${at}.type`],
      [{ ...base, type: 'CREATE', kind: 'Cat' }, `${at}.kind`],
      [{ ...base, type: 'DELETE_BY_NAME', name: '' }, `${at}.name`],
      [{ ...base, type: 'CREATE', object: '{' }, `${at}.object`],
      [{ ...base, type: 'CREATE', object: '[]' }, `${at}.object`],
      [{ ...base, type: 'CREATE', object: '{"__proto__":{}}' }, `${at}.object`],
      [{ ...base, type: 'DELETE' }, `${at}.precondition.uid`],
      [{ ...base, type: 'CHECK' }, `${at}.precondition`],
      [
        { ...base, type: 'CHECK', precondition: { absent: true, uid: 'u' } },
        `${at}.precondition.absent`,
      ],
      [
        { ...base, type: 'CHECK', precondition: { fields: { a: '{' } } },
        `${at}.precondition.fields`,
      ],
      [
        { ...base, type: 'CREATE', object: '{"metadata":{"finalizers":[1]}}' },
        `${at}.object.metadata.finalizers`,
      ],
      [
        { ...base, type: 'CREATE', object: '{"metadata":{"ownerReferences":[{"kind":"A"}]}}' },
        `${at}.object.metadata.ownerReferences`,
      ],
    ] as const)
      expect(await messages(operation)).to.equal(`ValidationFailed: ${expected}`);
    const many = Array.from({ length: 1_001 }, (_, n) => note(`many-${n}`));
    expect(await verdictOf(transact('everything', many))).to.equal(
      'InvalidArgument TransactionTooLarge',
    );
  });

  it('a transaction for another store is refused before anything is read', async () => {
    const request = { operations: [note(nextName())], storeId: 'another' };
    const verdict = await verdictOf(
      client('everything', true).call('ObjectService.Transact', request),
    );
    expect(verdict).to.equal('Aborted OtherStore');
  });
});
