import { expect } from 'chai';
import { type ApiObject, kindOf } from '../../object/index.js';
import { MemoryEngine, openStore } from '../../store/index.js';
import { accessControl, ApiServer, describeKinds, mount } from '../index.js';

interface Safe extends ApiObject {
  readonly room?: string;
  readonly code?: string;
}
const safes = kindOf<Safe>()({
  kind: 'Safe',
  plural: 'safes',
  scope: 'Namespaced',
  statusFields: [],
});
const secret = 'open sesame';
const rules = {
  prepare: async (_context: unknown, safe: Safe, before: Safe | undefined) =>
    safe.code === '***' && before?.code ? { ...safe, code: before.code } : safe,
  present: (safe: Safe, reveal: boolean) =>
    safe.code && !reveal ? { ...safe, code: '***' } : safe,
};
const fields = {
  room: { type: 'string', immutable: true },
  code: { type: 'string', immutable: true },
} as const;

describe('an immutable field', () => {
  it('that is hidden is neither shown nor confirmed to a caller without the right to read it', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    await store.create(safes, { namespace: 'home', name: 'a', room: 'hall', code: secret });
    const server = new ApiServer({
      store,
      ...describeKinds('safe.v1', [mount(safes, fields, rules)]),
      authenticator: {
        authenticate: (header) =>
          Promise.resolve({
            subject: header?.slice('Bearer '.length) ?? '',
            kind: 'user',
            policies: [],
            tokenId: '',
            expiresAt: undefined,
          }),
      },
      authorizer: accessControl(
        ({ subject }, { verb }) => verb === 'update' || (subject === 'owner' && verb === 'reveal'),
      ),
    });
    await using _closed = { [Symbol.asyncDispose]: () => server.close() };
    const anywhere = { host: '127.0.0.1', port: 0 };
    const { rest } = await server.listen({ grpc: anywhere, rest: anywhere });
    const put = async (subject: string, body: object): Promise<string> => {
      const answer = await fetch(
        `http://127.0.0.1:${rest}/v1/namespaces/home/safes/a?dryRun=true`,
        {
          method: 'PUT',
          headers: { authorization: `Bearer ${subject}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        },
      );
      const text = await answer.text();
      expect(text).to.not.contain(secret);
      return `${answer.status} ${/"message":"([^;]*)/.exec(text)?.[1] ?? ''}`.trim();
    };
    const refused = '400 code: is immutable: it has a different value';
    expect(await put('stranger', { room: 'hall', code: 'wrong' })).to.equal(refused);
    expect(await put('stranger', { room: 'hall', code: secret })).to.equal(refused);
    expect(await put('stranger', { room: 'hall' })).to.equal(refused);
    expect(await put('stranger', { room: 'hall', code: '***' })).to.equal('200');
    expect(await put('owner', { room: 'hall', code: secret })).to.equal('200');
    expect(await put('owner', { room: 'attic', code: '***' })).to.contain('it is ');
  });
});
