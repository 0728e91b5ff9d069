import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import { expect } from 'chai';
import { limits, StatusError } from '../../base/index.js';
import { done, effectRecords, newController } from '../../controller/index.js';
import { LeaderElector } from '../../election/index.js';
import { SharedInformer } from '../../informer/index.js';
import { type ApiObject, matchFields } from '../../object/index.js';
import { eventually, FakeClock, settle } from '../../testing/index.js';
import { RemoteStore } from './remote-store.js';
import { lamps, local, House } from './remote-house.test.js';

const failure = (work: Promise<unknown>): Promise<StatusError> =>
  work.then(
    () => expect.fail('it was not refused'),
    (error: unknown) => StatusError.from(error),
  );

describe('a store in another process', () => {
  let house: House;
  beforeEach(async () => {
    house = new House();
    await house.start();
  });
  afterEach(() => house.close());

  it('a connect fails while the server is down; reads and writes wait for the server, and then succeed', async () => {
    const store = await house.connect({ timeoutMs: 30_000 });
    await store.create(lamps, { name: 'a', watts: 40 });
    await house.stop();
    const brief = await house.connect({ timeoutMs: 300 }).catch((error: unknown) => error);
    expect(StatusError.from(brief).code).to.be.oneOf(['Unavailable', 'DeadlineExceeded']);
    const reading = store.get(lamps, { name: 'a' });
    const writing = store.create(lamps, { name: 'b' });
    await house.start(house.store);
    expect((await reading)?.watts).to.equal(40);
    expect((await writing).name).to.equal('b');
  }).timeout(180_000);

  it('an invalid address or deadline is reported as such, not as an unreachable server', async () => {
    const refusal = (options: object) => house.connect(options).then(() => 'connected', String);
    for (const timeoutMs of [NaN, 0, -1, Infinity, '5000'])
      expect(await refusal({ timeoutMs })).to.contain(`timeoutMs is ${timeoutMs}`);
    for (const server of [undefined, '', `http://${local}:${house.port}`])
      expect(await refusal({ server })).to.contain('give host:port');
  });

  it('a write that could not be sent is reported as not executed', async () => {
    const store = await house.connect({ timeoutMs: 2_000 });
    await house.stop();
    const error = await failure(store.create(lamps, { name: 'a' }));
    expect([error.code, error.reason]).to.deep.equal(['Unavailable', 'Unreachable']);
    const read = await failure(store.get(lamps, { name: 'a' }));
    expect(read.code).to.be.oneOf(['Unavailable', 'DeadlineExceeded']);
  }).timeout(180_000);

  it('a write whose answer is lost is not repeated; its outcome is reported as unknown', async () => {
    let writes = 0;
    const answering = new AbortController();
    const held = house.store.transact.bind(house.store);
    house.store.transact = async (operations) => {
      if (operations.length > 0) writes += 1;
      const results = await held(operations);
      // Executed, but the answer is never sent.
      if (operations.length > 0)
        await new Promise<void>((resolve) =>
          answering.signal.addEventListener('abort', () => resolve(), { once: true }),
        );
      return results;
    };
    const store = await house.connect({ timeoutMs: 2_000 });
    const error = await failure(store.create(lamps, { name: 'a' }));
    expect([error.code, error.reason]).to.deep.equal(['Unavailable', 'OutcomeUnknown']);
    expect(writes).to.equal(1);
    answering.abort();
    house.store.transact = held;
    expect((await store.get(lamps, { name: 'a' }))?.name).to.equal('a');
  }).timeout(180_000);

  it('a call to a server that accepts the connection and never answers fails at the deadline', async () => {
    const sockets: Socket[] = [];
    const silent: NetServer = createServer((socket) => void sockets.push(socket));
    await new Promise<void>((resolve) => silent.listen(0, local, resolve));
    const { port } = silent.address() as AddressInfo;
    const from = performance.now();
    const error = await failure(
      RemoteStore.connect({ server: `${local}:${port}`, token: undefined, timeoutMs: 400 }),
    );
    expect(error.code).to.be.oneOf(['Unavailable', 'DeadlineExceeded']);
    expect(performance.now() - from).to.be.lessThan(20_000);
    for (const socket of sockets) socket.destroy();
    silent.close();
  }).timeout(180_000);

  it('health reports an unreachable server, and its return', async () => {
    const clock = new FakeClock();
    const store = await house.connect({ clock, timeoutMs: 2_000 });
    expect(store.health().state).to.equal('serving');
    await house.stop();
    await eventually('unreachable', async () => {
      await clock.advance(1_000);
      return store.health().state === 'unreachable';
    });
    await house.start(house.store);
    await eventually('serving', async () => {
      await clock.advance(1_000);
      return store.health().state === 'serving';
    });
    await store.close();
    expect(store.health().state).to.equal('closed');
  }).timeout(180_000);

  it('a watch resumes when the server is back, and delivers each change once', async () => {
    const store = await house.connect();
    const stop = new AbortController();
    const received: string[] = [];
    const watching = (async () => {
      const options = { fromRevision: 0, signal: stop.signal };
      for await (const { events } of store.watch(lamps, options))
        for (const { type, object } of events) received.push(`${type} ${object.name}`);
    })();
    await house.store.create(lamps, { name: 'a' });
    await eventually('the first', () => received.length === 1);
    await house.stop();
    await house.store.create(lamps, { name: 'b' });
    await house.start(house.store);
    await eventually('the second', () => received.length === 2, 10_000);
    await house.store.create(lamps, { name: 'c' });
    await eventually('the third', () => received.length === 3);
    expect(received).to.deep.equal(['ADDED a', 'ADDED b', 'ADDED c']);
    stop.abort();
    await watching;
  }).timeout(180_000);

  it('a selector that is a function selects like one in text form', async () => {
    const store = await house.connect();
    const made = await store.create(lamps, { name: 'a', watts: 1 });
    await store.create(lamps, { name: 'b', watts: 2 });
    const fields = matchFields(lamps, { watts: 1 });
    const own = (object: ApiObject): boolean => fields(object);
    const { items } = await store.list(lamps, { fields: own, limit: 1 });
    expect(items.map(({ name }) => name)).to.deep.equal(['a']);
    const stop = new AbortController();
    const from = store.revision;
    const away = await store.update(lamps, { ...made, watts: 9 });
    const back = await store.update(lamps, { ...away, watts: 1 });
    await store.delete(lamps, back);
    const received: string[] = [];
    for await (const { events } of store.watch(lamps, {
      fromRevision: from,
      fields: own,
      signal: stop.signal,
    })) {
      received.push(...events.map(({ type, object }) => `${type} ${object.name}`));
      if (received.length >= 3) stop.abort();
    }
    expect(received).to.deep.equal(['DELETED a', 'ADDED a', 'DELETED a']);
  });

  it('a reconcile after a write of its key never sees an older cache', async () => {
    const store = await house.connect();
    const informer = new SharedInformer({
      source: store.source(lamps),
      name: 'lamps',
      kind: 'Lamp',
    });
    const seen: string[] = [];
    const controller = newController({
      name: 'count',
      store,
      reconcile: async (context) => {
        const { key } = context;
        const cached = informer.lister.get(key.name);
        if (!cached) return done();
        const watts = cached.watts ?? 0;
        seen.push(`${key.name} ${watts}`);
        if (watts >= 20) return done();
        return context.txn(async (transaction) => {
          const lamp = await transaction.get(lamps, key);
          // A run on a stale cache would count a step twice.
          expect(lamp?.watts ?? 0).to.equal(watts);
          if (lamp) transaction.update(lamps, { ...lamp, watts: watts + 1 });
          controllerAgain(key.name);
          return done();
        });
      },
    }).for(informer);
    const controllerAgain = (name: string): void =>
      void queueMicrotask(() => controller.enqueue({ name }));
    informer.start();
    await controller.start();
    await store.create(lamps, { name: 'a' });
    await eventually(
      'twenty steps',
      async () => (await store.get(lamps, { name: 'a' }))?.watts === 20,
    );
    expect(new Set(seen).size).to.be.greaterThanOrEqual(21);
    await controller.stop(1_000);
    await informer.close();
  }).timeout(180_000);

  describe('when the server has a different store', () => {
    it('adopts the new one, relists, and refuses writes based on the old one', async () => {
      const met: string[] = [];
      const store = await house.connect({ onOtherStore: (id) => void met.push(id) });
      const kept = await store.create(lamps, { name: 'kept' });
      const informer = new SharedInformer({ source: store.source(lamps), name: 'lamps' });
      informer.start();
      await informer.waitForSync();
      const before = store.storeId;
      const other = await house.restored();
      const lost = await store.create(lamps, { name: 'lost', watts: 1 });
      await eventually('both are cached', () => informer.lister.has('lost'));
      await house.stop();
      await house.store.close();
      await house.start(other);
      const stale = await failure(
        store.transact([{ op: 'update', kind: lamps, object: kept, precondition: kept.metadata }]),
      );
      expect([stale.code, stale.reason]).to.deep.equal(['Aborted', 'OtherStore']);
      expect(store.storeId).to.equal(other.storeId).and.to.not.equal(before);
      expect(met).to.deep.equal([other.storeId]);
      expect(await store.get(lamps, { name: lost.name })).to.equal(undefined);
      await eventually(
        'the cache has the content of the other store',
        () => !informer.lister.has('lost'),
        15_000,
      );
      expect(informer.lister.has('kept')).to.equal(true);
      const now = await store.create(lamps, { name: 'new' });
      expect(store.revision).to.equal(Number(now.metadata.resourceVersion));
      await informer.close();
    }).timeout(180_000);

    it('an effect uses the idempotency key of the new store, not that of the earlier one', async () => {
      const store = await house.connect();
      const keys: string[] = [];
      let fail = true;
      const lamp = await store.create(lamps, { name: 'a' });
      const controller = newController({
        name: 'pay',
        store,
        reconcile: async (context) => {
          await context.effect(lamps, lamp, 'pay', async (idempotencyKey) => {
            keys.push(idempotencyKey);
            if (fail) throw new Error('no answer');
            return idempotencyKey;
          });
          return done();
        },
      });
      await controller.start();
      const other = await house.restored();
      controller.enqueue({ name: 'a' });
      await eventually('the first call', () => keys.length > 0);
      const recorded = async () => (await store.list(effectRecords)).items.length > 0;
      await eventually('its record', recorded);
      await house.stop();
      await house.store.close();
      await house.start(other);
      await eventually('the other store is detected', async () => {
        await store.transact([]);
        return store.storeId === other.storeId;
      });
      fail = false;
      const calls = keys.length;
      await eventually('a call on the other store', () => keys.length > calls, 15_000);
      expect(keys.at(-1)).to.not.equal(keys[0]);
      await controller.stop(1_000);
    }).timeout(180_000);
  });

  it('a leader that has not noticed its loss yet is refused inside the commit, over gRPC', async () => {
    const one = new FakeClock();
    const two = new FakeClock();
    const run = async (identity: string, clock: FakeClock) => {
      const store = await house.connect();
      const stop = new AbortController();
      const elector = new LeaderElector({ store, name: 'lead', identity, clock });
      const running = elector.run(
        { onStartedLeading: () => undefined, onStoppedLeading: () => undefined },
        stop.signal,
      );
      return { elector, stop, running };
    };
    const a = await run('a', one);
    await eventually('a leads', () => a.elector.isLeader);
    const fenced = a.elector.fence();
    expect((await fenced.create(lamps, { name: 'by-a' })).name).to.equal('by-a');
    // The maximum of a transaction; the fence does not count.
    const many = Array.from({ length: limits.transactionOperationsMax }, (_, n) => ({
      op: 'create' as const,
      kind: lamps,
      object: { name: `many-${n}` },
    }));
    expect(await fenced.transact(many)).to.have.length(many.length);
    const b = await run('b', two);
    // The clock of a stands still, so it does not notice that its lease expired.
    await eventually(
      'b leads',
      async () => {
        await two.advance(1_000);
        await settle();
        return b.elector.isLeader;
      },
      15_000,
    );
    expect(a.elector.isLeader).to.equal(true);
    const late = await failure(fenced.create(lamps, { name: 'late' }));
    expect([late.code, late.reason]).to.deep.equal(['FailedPrecondition', 'LeadershipLost']);
    expect(await house.store.get(lamps, { name: 'late' })).to.equal(undefined);
    expect((await b.elector.fence().create(lamps, { name: 'by-b' })).name).to.equal('by-b');
    for (const { stop } of [a, b]) stop.abort();
    await eventually('both have ended', async () => {
      await Promise.all([one.advance(1_000), two.advance(1_000)]);
      return a.elector.state === 'stopped' && b.elector.state === 'stopped';
    });
  }).timeout(180_000);
});
