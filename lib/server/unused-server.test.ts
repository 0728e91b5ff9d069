import { setImmediate } from 'node:timers/promises';
import { expect } from 'chai';
import { type ApiObject, kindOf } from '../object/index.js';
import { MemoryEngine, openStore } from '../store/index.js';
import { accessControl, ApiServer, describeKinds, mount } from './index.js';

const orders = kindOf<ApiObject & { readonly note?: string }>()({
  kind: 'Order',
  plural: 'orders',
  scope: 'Namespaced',
  statusFields: [],
});
const api = describeKinds('shop.v1', [mount(orders, { note: 'string' })]);

describe('a server that never listens', () => {
  it('is garbage collected', async function () {
    if (!globalThis.gc) return this.skip();
    const made = async (): Promise<WeakRef<object>> => {
      await using store = await openStore({ engine: new MemoryEngine() });
      const authenticator = { authenticate: () => Promise.reject(new Error('nobody')) };
      const authorizer = accessControl(() => true);
      // Everything that it references would be kept in memory with it.
      expect(new ApiServer({ store, ...api, authenticator, authorizer })).to.be.instanceOf(
        ApiServer,
      );
      return new WeakRef(authenticator);
    };
    const port = await made();
    // The target of a new weak reference lives at least until the end of the turn.
    await setImmediate();
    globalThis.gc();
    expect(port.deref()).to.equal(undefined);
  });
});
