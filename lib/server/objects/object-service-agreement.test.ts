import { expect } from 'chai';
import { statusCodes } from '../../base/index.js';
import { type Kind, keyFor } from '../../object/index.js';
import { bodyField, type JsonObject } from '../../rpc/index.js';
import type { EmbeddedStore } from '../../store/index.js';
import {
  beacons,
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

/** A write, and the object that is created before it. */
interface Case {
  readonly name: string;
  readonly op: 'CREATE' | 'UPDATE' | 'OVERWRITE' | 'UPDATE_STATUS' | 'DELETE' | 'DELETE_BY_NAME';
  /** The object before the write; undefined for none. */
  readonly before?: Partial<Lamp>;
  readonly object?: JsonObject;
  /** Guards with a version that is no longer the stored one. */
  readonly stale?: boolean;
  /** A protobuf message of the kind can't represent this object. */
  readonly jsonOnly?: boolean;
}

const cases: readonly Case[] = [
  { name: 'create', op: 'CREATE', object: { room: 'hall', watts: 40 } },
  {
    name: 'create of its own',
    op: 'CREATE',
    object: { room: 'hall', labels: { owner: 'narrowed' } },
  },
  { name: 'create an existing object', op: 'CREATE', before: there, object: { room: 'hall' } },
  { name: 'create without a required field', op: 'CREATE', object: { watts: 40 } },
  {
    name: 'create with an unknown field',
    op: 'CREATE',
    object: { room: 'hall', volts: 1 },
    jsonOnly: true,
  },
  { name: 'create against a rule', op: 'CREATE', object: { room: 'hall', watts: 13 } },
  { name: 'create out of bounds', op: 'CREATE', object: { room: 'hall', watts: 1_000 } },
  {
    name: 'create with status and metadata of the server',
    op: 'CREATE',
    object: { room: 'hall', on: true, metadata: { uid: 'mine', generation: 7 } },
  },
  { name: 'overwrite', op: 'OVERWRITE', before: there, object: { room: 'hall', watts: 60 } },
  {
    name: 'overwrite with a mask',
    op: 'OVERWRITE',
    before: there,
    object: { room: 'hall', watts: 60, code: '***' },
  },
  {
    name: 'overwrite with status',
    op: 'OVERWRITE',
    before: there,
    object: { room: 'hall', watts: 40, on: true },
  },
  { name: 'overwrite a missing object', op: 'OVERWRITE', object: { room: 'hall' } },
  {
    name: 'overwrite an immutable field',
    op: 'OVERWRITE',
    before: there,
    object: { room: 'attic' },
  },
  {
    name: "overwrite another caller's",
    op: 'OVERWRITE',
    before: { ...there, labels: { owner: 'ann' } },
    object: { room: 'hall', watts: 60, labels: { owner: 'narrowed' } },
  },
  { name: 'update', op: 'UPDATE', before: there, object: { room: 'hall', watts: 60 } },
  {
    name: 'update of a stale version',
    op: 'UPDATE',
    before: there,
    object: { room: 'hall', watts: 60 },
    stale: true,
  },
  {
    name: 'update against a rule',
    op: 'UPDATE',
    before: there,
    object: { room: 'hall', watts: 13 },
  },
  { name: 'status', op: 'UPDATE_STATUS', before: there, object: { on: true } },
  {
    name: 'status with an unknown field',
    op: 'UPDATE_STATUS',
    before: there,
    object: { on: true, watts: 99 },
  },
  {
    name: 'status of a wrong type',
    op: 'UPDATE_STATUS',
    before: there,
    object: { on: 'yes' },
    jsonOnly: true,
  },
  { name: 'status of a missing object', op: 'UPDATE_STATUS', object: { on: true } },
  {
    name: "status of another caller's",
    op: 'UPDATE_STATUS',
    before: { ...there, labels: { owner: 'ann' } },
    object: { on: true },
  },
  { name: 'delete by name', op: 'DELETE_BY_NAME', before: there },
  { name: 'delete of a stale version', op: 'DELETE_BY_NAME', before: there, stale: true },
  { name: 'delete a missing object', op: 'DELETE_BY_NAME' },
  {
    name: 'delete against a rule',
    op: 'DELETE_BY_NAME',
    before: { ...there, labels: { keep: 'yes', owner: 'narrowed' } },
  },
  {
    name: "delete another caller's",
    op: 'DELETE_BY_NAME',
    before: { ...there, labels: { owner: 'ann' } },
  },
];

describe('the object service', () => {
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

  interface Asked {
    readonly subject: string;
    readonly kind: Kind<Lamp>;
    readonly asked: Case;
    readonly name: string;
    readonly version: string;
    readonly uid: string;
  }
  function typedRequest({ kind, asked, name, version }: Asked): readonly [string, JsonObject] {
    const namespace = kind.scope === 'Cluster' ? {} : { namespace: 'home' };
    const verb = {
      CREATE: 'Create',
      UPDATE: 'Update',
      OVERWRITE: 'Update',
      UPDATE_STATUS: 'UpdateStatus',
      DELETE: 'Delete',
      DELETE_BY_NAME: 'Delete',
    }[asked.op];
    const metadata = asked.op === 'UPDATE' ? { metadata: { resourceVersion: version } } : {};
    const body = asked.object && { [bodyField(kind)]: { name, ...asked.object, ...metadata } };
    const named = verb === 'Create' ? {} : { name };
    const guard = verb === 'Delete' && asked.stale ? { resourceVersion: version } : {};
    return [`${kind.kind}Service.${verb}`, { ...namespace, ...named, ...body, ...guard }];
  }
  async function overGrpc(asked: Asked): Promise<string> {
    const [method, request] = typedRequest(asked);
    return verdictOf(client(asked.subject, false).call(method, request));
  }
  async function overRest({ subject, kind, asked, name, version }: Asked): Promise<string> {
    const all =
      kind.scope === 'Cluster' ? `/v1/${kind.plural}` : `/v1/namespaces/home/${kind.plural}`;
    const [method, path] = {
      CREATE: ['POST', all],
      UPDATE: ['PUT', `${all}/${name}`],
      OVERWRITE: ['PUT', `${all}/${name}`],
      UPDATE_STATUS: ['PUT', `${all}/${name}/status`],
      DELETE: ['DELETE', `${all}/${name}`],
      DELETE_BY_NAME: ['DELETE', `${all}/${name}`],
    }[asked.op] as [string, string];
    const metadata = asked.op === 'UPDATE' ? { metadata: { resourceVersion: version } } : {};
    const query = asked.op === 'DELETE_BY_NAME' && asked.stale ? `?resourceVersion=${version}` : '';
    const answer = await fetch(`http://127.0.0.1:${house.ports.rest}${path}${query}`, {
      method,
      headers: { authorization: `Bearer ${subject}`, 'content-type': 'application/json' },
      ...(asked.object ? { body: JSON.stringify({ name, ...asked.object, ...metadata }) } : {}),
    });
    const body = (await answer.json()) as { code: number; reason: string };
    if (answer.ok) return 'OK';
    const [code] = Object.entries(statusCodes).find(([, number]) => number === body.code) ?? [];
    return `${code} ${body.reason}`;
  }
  function operation({ kind, asked, name, version, uid }: Asked): JsonObject {
    const guard =
      asked.op === 'UPDATE'
        ? { uid, resourceVersion: version }
        : asked.stale
          ? { resourceVersion: version }
          : {};
    return {
      type: asked.op,
      kind: kind.kind,
      namespace: kind.scope === 'Cluster' ? '' : 'home',
      name,
      ...(asked.object ? { object: JSON.stringify({ name, ...asked.object }) } : {}),
      ...(Object.keys(guard).length > 0 ? { precondition: guard } : {}),
    };
  }
  /** The ways to request one write. */
  const ways: Readonly<Record<string, (asked: Asked) => Promise<string>>> = {
    'a single call over gRPC': overGrpc,
    'a single call over REST': overRest,
    'a transaction of it alone': (asked) => verdictOf(transact(asked.subject, [operation(asked)])),
    'a transaction with others': async (asked) => {
      const operations = [note(`${asked.name}-a`), operation(asked), note(`${asked.name}-b`)];
      const verdict = await verdictOf(transact(asked.subject, operations));
      for (const part of ['a', 'b']) {
        const key = { namespace: 'home', name: `${asked.name}-${part}` };
        const stored = (await store.get(notes, key)) !== undefined;
        expect(stored, `the other writes of ${asked.asked.name}`).to.equal(verdict === 'OK');
      }
      return verdict;
    },
  };

  /** The stored object, without fields that differ from case to case. */
  async function state(kind: Kind<Lamp>, name: string): Promise<unknown> {
    const object = await store.get(kind, keyFor(kind, 'home', name));
    if (!object) return 'none';
    const { generation, finalizers = [], ownerReferences = [] } = object.metadata;
    const { name: _name, metadata: _metadata, ...rest } = object;
    return { ...rest, generation, finalizers, ownerReferences };
  }

  for (const kind of [lamps, beacons])
    for (const subject of Object.keys(rights))
      it(`accepts, refuses and writes for "${subject}" with ${kind.plural} the same as single calls`, async () => {
        for (const asked of cases) {
          const seen: Record<string, unknown> = {};
          for (const [way, ask] of Object.entries(ways)) {
            if (asked.jsonOnly && ask === overGrpc) continue;
            const name = nextName();
            let version = '1';
            let uid = 'none';
            if (asked.before) {
              const key = keyFor(kind, 'home', name);
              const stored = await store.create(kind, { ...key, ...asked.before } as Lamp);
              version = asked.stale ? '1' : stored.metadata.resourceVersion;
              ({ uid } = stored.metadata);
            }
            const verdict = await ask({ subject, kind, asked, name, version, uid });
            seen[way] = { verdict, state: await state(kind, name) };
          }
          const single = seen['a single call over REST'];
          for (const [way, found] of Object.entries(seen))
            expect(found, `${asked.name}, ${way}`).to.deep.equal(single);
        }
      }).timeout(180_000);
});
