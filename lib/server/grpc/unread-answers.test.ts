import { expect } from 'chai';
import { type ApiObject, kindOf } from '../../object/index.js';
import { MemoryEngine, openStore } from '../../store/index.js';
import { eventually, FakeClock } from '../../testing/index.js';
import { anonymous } from '../api/call.js';
import { errorCodes, frame, frameTypes, numbersFrame, settingsFrame } from '../http2/frames.js';
import { RawClient } from '../http2/raw-client.test.js';
import { accessControl, ApiServer, describeKinds, mount } from '../index.js';
import { UnreadAnswers } from './unread-answers.js';

describe('answers that are not read', () => {
  let clock: FakeClock;
  let answers: UnreadAnswers;
  let dropped: string[];
  beforeEach(() => {
    clock = new FakeClock();
    answers = new UnreadAnswers(clock, 100_000);
    dropped = [];
  });
  const begin = (name: string, bytes: number): (() => void) | undefined =>
    answers.begin(bytes, () => dropped.push(name));

  it('are dropped when they take too much memory, the oldest first', async () => {
    begin('a', 40_000);
    begin('b', 40_000);
    await clock.advance(2_000);
    begin('c', 20_000);
    expect(dropped).to.deep.equal([]);
    begin('d', 20_001);
    expect(dropped).to.deep.equal(['a']);
    begin('e', 90_000);
    expect(dropped, 'not those that have just begun').to.deep.equal(['a', 'b']);
    await clock.advance(2_000);
    begin('f', 100_000);
    expect(dropped).to.deep.equal(['a', 'b', 'c', 'd', 'e']);
  });

  it('do not count once they were read, or if they are short', async () => {
    const read = begin('a', 60_000);
    expect(begin('short', 4_095)).to.equal(undefined);
    read?.();
    read?.();
    await clock.advance(10_000);
    begin('b', 100_000);
    expect(dropped).to.deep.equal([]);
  });

  it('of a server are dropped, and those that the client reads arrive', async () => {
    const orders = kindOf<ApiObject & { readonly note?: string }>()({
      kind: 'Order',
      plural: 'orders',
      scope: 'Namespaced',
      statusFields: [],
    });
    const api = describeKinds('shop.v1', [mount(orders, { note: 'string' })]);
    await using store = await openStore({ engine: new MemoryEngine() });
    const note = 'x'.repeat(1_000_000);
    await store.create(orders, { namespace: 'a', name: 'large', note });
    const request = api.schemas.encode(api.schemas.message('shop.v1.GetOrderRequest'), {
      namespace: 'a',
      name: 'large',
    });
    const message = Buffer.from([0, 0, 0, 0, request.length, ...request]);
    const authenticator = { authenticate: () => Promise.resolve({ ...anonymous }) };
    const authorizer = accessControl(() => true);
    const server = new ApiServer({ store, ...api, authenticator, authorizer, clock });
    const local = { host: '127.0.0.1', port: 0 };
    const { grpc } = await server.listen({ grpc: local, rest: local });
    using client = new RawClient(grpc);
    try {
      client.send(settingsFrame([[4, 0]]));
      const begunCalls = (): number =>
        new Set(client.of('headers').map(({ stream }) => stream)).size;
      let calls = 0;
      const get = async (): Promise<number> => {
        const id = 2 * calls + 1;
        calls += 1;
        client.send(client.call(id, false, [], '/shop.v1.OrderService/Get'));
        client.send(frame(frameTypes.data, 1, id, message));
        await eventually('the answer', () => begunCalls() === calls);
        return id;
      };
      for (let n = 0; n < 134; n += 1) await get();
      expect(client.of('reset')).to.have.length(0);
      await clock.advance(2_000);
      const last = await get();
      const reset = await client.next('reset', 1);
      expect(reset.payload.readUInt32BE(0)).to.equal(errorCodes.enhanceYourCalm);
      for (const stream of [0, last])
        client.send(numbersFrame(frameTypes.windowUpdate, stream, 2 ** 30));
      expect(await client.answered(last)).to.include({ 'grpc-status': '0' });
      expect(client.body(last).length).to.be.above(note.length);
    } finally {
      client[Symbol.dispose]();
      await server.close(0);
    }
  });
});
