import { createServer } from 'node:net';
import { expect } from 'chai';
import { Manager } from '../manager/index.js';
import { type ApiObject, kindOf } from '../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { ApiServer, describeKinds, mount } from './index.js';

const orders = kindOf<ApiObject & { readonly quantity: number }>()({
  kind: 'Order',
  plural: 'orders',
  scope: 'Namespaced',
  statusFields: [],
});
const api = describeKinds('shop.v1', [mount(orders, { quantity: 'integer' })]);
const local = { host: '127.0.0.1', port: 0 };

describe('an API server as part of a manager', () => {
  let store: ObjectStore;
  let log: string[];
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    log = [];
  });
  afterEach(() => store.close());
  const part = (name: string) => ({
    name,
    start: async () => void log.push(`+${name}`),
    stop: async () => void log.push(`-${name}`),
  });
  const answers = (port: number): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/v1/namespaces/default/orders`).then(
      ({ status }) => status === 401,
      () => false,
    );

  it('listens when the manager starts it, reports its ports, and is closed gracefully within the budget', async () => {
    const server = new ApiServer({ store, ...api });
    let ports = { grpc: 0, rest: 0 };
    const manager = new Manager({ store }).addRunnable(part('a')).addRunnable(
      server.runnable(
        { grpc: local, rest: local },
        {
          name: 'orders api',
          onListening: (listening) => {
            ports = listening;
            log.push('+server');
          },
        },
      ),
    );
    manager.addRunnable(part('b'));
    await manager.start();
    expect(log).to.deep.equal(['+a', '+server', '+b']);
    expect(ports.grpc).to.be.greaterThan(0);
    expect(await answers(ports.rest)).to.equal(true);
    const check = manager.health().find(({ name }) => name === 'runnable orders api');
    expect(check).to.deep.include({ healthy: true, message: 'running' });
    await manager.stop(5_000);
    expect(log.slice(3)).to.deep.equal(['-b', '-a']);
    expect(await answers(ports.rest), 'closed').to.equal(false);
  });

  it('serves on every candidate, before it leads', async () => {
    const server = new ApiServer({ store, ...api });
    let port = 0;
    const other = new Manager({ store, leaderElection: { name: 'jobs', identity: 'leader' } });
    await other.start();
    await other.elected();
    const manager = new Manager({ store, leaderElection: { name: 'jobs', identity: 'standby' } });
    const onListening = ({ rest }: { readonly rest: number }): void => void (port = rest);
    manager.addRunnable(server.runnable({ grpc: local, rest: local }, { onListening }));
    await manager.start();
    expect(manager.elector?.isLeader).to.equal(false);
    expect(await answers(port)).to.equal(true);
    await manager.stop(5_000);
    await other.stop(5_000);
  });

  it('fails the start if its port is in use, and running parts are stopped', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    const server = new ApiServer({ store, ...api });
    // Also without the option onListening.
    const manager = new Manager({ store }).addRunnable(part('a'));
    manager.addRunnable(server.runnable({ grpc: local, rest: { host: '127.0.0.1', port } }));
    const error: unknown = await manager.start().catch((thrown: unknown) => thrown);
    expect(String(error)).to.contain('EADDRINUSE').and.contain(String(port));
    expect(log).to.deep.equal(['+a', '-a']);
    await new Promise((resolve) => taken.close(resolve));
  });
});
