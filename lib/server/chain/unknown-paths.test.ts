import { connect as connectHttp2 } from 'node:http2';
import { once } from 'node:events';
import { expect } from 'chai';
import { type ApiObject, kindOf } from '../../object/index.js';
import { MemoryEngine, openStore } from '../../store/index.js';
import type { AuditEntry } from '../api/audit.js';
import { ApiServer, describeKinds, mount } from '../index.js';

const orders = kindOf<ApiObject>()({
  kind: 'Order',
  plural: 'orders',
  scope: 'Cluster',
  statusFields: [],
});
const api = describeKinds('shop.v1', [mount(orders, {})]);
const local = { host: '127.0.0.1', port: 0 };

describe('a refused caller of a path that does not exist', () => {
  it('is recorded like one of a method, over both transports', async () => {
    const entries: AuditEntry[] = [];
    const audit = { wants: () => true, record: (entry: AuditEntry) => void entries.push(entry) };
    await using store = await openStore({ engine: new MemoryEngine() });
    await using server = new ApiServer({ store, ...api, audit });
    const ports = await server.listen({ grpc: local, rest: local });
    for (const path of ['/v1/nothing', '/v1/openapi.json', '/v1/orders']) {
      const headers = { authorization: 'Bearer guess', connection: 'close' };
      await fetch(`http://127.0.0.1:${ports.rest}${path}`, { headers });
    }
    const session = connectHttp2(`http://127.0.0.1:${ports.grpc}`);
    const call = session.request({
      ':method': 'POST',
      ':path': '/shop.v1.Nothing/Get',
      'content-type': 'application/grpc',
      authorization: 'Bearer guess',
    });
    call.resume().end();
    await once(call, 'close');
    session.destroy();
    const reported = entries.map(({ method, transport, code, subject }) =>
      [method, transport, code, subject].join(' '),
    );
    expect(reported).to.deep.equal([
      ' rest Unauthenticated ',
      ' rest Unauthenticated ',
      'OrderService.List rest Unauthenticated ',
      ' grpc Unauthenticated ',
    ]);
  });
});
