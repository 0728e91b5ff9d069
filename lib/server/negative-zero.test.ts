import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ApiClient } from '../client/index.js';
import { declareKind, double, json, list, map, object, optional } from '../object/index.js';
import type { JsonObject } from '../rpc/index.js';
import { LevelEngine, openStore } from '../store/index.js';
import { accessControl, ApiServer, describeKinds, mount } from './index.js';

const dials = declareKind({
  kind: 'Dial',
  plural: 'dials',
  scope: 'Cluster',
  fields: {
    plain: double(),
    some: optional(double()),
    range: object({ low: optional(double()) }),
    steps: list(double()),
    marks: map(double()),
    free: json(),
  },
  status: { shown: optional(double()) },
});
const api = describeKinds('dials.v1', [mount(dials)]);
const negative = {
  plain: -0,
  some: -0,
  range: { low: -0 },
  steps: [1, -0],
  marks: { a: -0 },
  free: { deep: [-0] },
};
const zeros = {
  plain: 0,
  some: 0,
  range: { low: 0 },
  steps: [1, 0],
  marks: { a: 0 },
  free: { deep: [0] },
};
const minusText = JSON.stringify(negative, (_key, value: unknown) =>
  Object.is(value, -0) ? 'minus' : value,
).replaceAll('"minus"', '-0');

describe('a number -0', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-zero-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('is 0 and not absent, by every way of writing and reading, before and after a restart', async () => {
    const open = () => openStore({ engine: new LevelEngine({ directory }) });
    const identity = { subject: 'ann', kind: 'user', policies: [], tokenId: '' } as const;
    const serve = async (store: Awaited<ReturnType<typeof open>>) => {
      const server = new ApiServer({
        store,
        ...api,
        authenticator: {
          authenticate: () => Promise.resolve({ ...identity, expiresAt: undefined }),
        },
        authorizer: accessControl(() => true),
      });
      const anywhere = { host: '127.0.0.1', port: 0 };
      const ports = await server.listen({ grpc: anywhere, rest: anywhere });
      const client = new ApiClient({ ...api, server: `127.0.0.1:${ports.grpc}`, token: 't' });
      const rest = async (method: string, path: string, body?: string): Promise<JsonObject> => {
        const headers = { authorization: 'Bearer t', 'content-type': 'application/json' };
        const url = `http://127.0.0.1:${ports.rest}/v1/dials${path}`;
        const answer = await fetch(url, { method, headers, ...(body ? { body } : {}) });
        expect(answer.status).to.equal(200);
        return (await answer.json()) as JsonObject;
      };
      const close = async (): Promise<void> => {
        client.close();
        await server.close();
        await store.close();
      };
      return { store, client, rest, close };
    };
    const first = await serve(await open());
    const answers: object[] = [
      await first.store.create(dials, { name: 'direct', ...negative }),
      await first.client.call('DialService.Create', { dial: { name: 'grpc', ...negative } }),
      await first.rest('POST', '', `{"name":"rest",${minusText.slice(1)}`),
    ];
    const shown = await first.store.updateStatus(dials, { name: 'direct' }, { shown: -0 });
    expect(Object.is(shown.shown, 0)).to.equal(true);
    // It is not a change either.
    const again = { ...shown, ...negative };
    expect((await first.store.update(dials, again)).metadata).to.deep.equal(shown.metadata);
    await first.store.transact([
      { op: 'check', kind: dials, key: { name: 'direct' }, precondition: { fields: { some: -0 } } },
    ]);
    const names = ['direct', 'grpc', 'rest'];
    const read = async ({ store, client, rest }: typeof first): Promise<void> => {
      for (const name of names) {
        answers.push((await store.get(dials, { name }))!);
        answers.push(await client.call('DialService.Get', { name }));
        answers.push(await rest('GET', `/${name}`));
      }
    };
    await read(first);
    await first.close();
    const second = await serve(await open());
    await read(second);
    await second.close();
    expect(answers.length).to.equal(21);
    // deep.include distinguishes 0 from -0.
    for (const answer of answers) expect(answer).to.deep.include(zeros);
  });
});
