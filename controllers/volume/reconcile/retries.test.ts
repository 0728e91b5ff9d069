import { expect } from 'chai';
import { modify } from 'kedge';
import { settle } from 'kedge/testing';
import { nodes } from '../../node/kind.js';
import { services } from '../../service/kind.js';
import { snapshots } from '../../snapshot/kind.js';
import { type Attachment, volumes } from '../kind.js';
import { snapshotFinalizer } from '../../snapshot/admission.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { requireCallHere } from '../../provisioned/retries.js';

const key = { namespace: 'default', name: 'v' };
const hour = 60 * 60_000;

describe('a call of a driver that fails', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
  });
  afterEach(() => world.stop());

  const count = (name: string): number => world.driver.calls.filter((c) => c === name).length;
  /** Creates a volume, and requests a growth that fails. */
  const fail = async (): Promise<void> => {
    await world.createService('web');
    await world.createVolume({ ownerService: 'default/web' });
    world.driver.failsOn = { expand: 'Unavailable' };
    await modify(world.store, volumes, key, (volume) => ({ ...volume, size: '2Gi' }));
    await settle();
  };
  /** Lets the growth fail until the waits between attempts are minutes. Returns the number of attempts. */
  const failForLong = async (): Promise<number> => {
    await fail();
    await world.clock.advance(hour);
    return count('expand');
  };

  it('is repeated after a backoff that doubles up to five minutes, and not before', async () => {
    await fail();
    expect(count('expand')).to.equal(1);
    await world.clock.advance(700);
    expect(count('expand')).to.equal(1);
    await world.clock.advance(600);
    expect(count('expand')).to.equal(2);
    await world.clock.advance(hour);
    expect(count('expand')).to.be.within(15, 25);
    world.driver.failsOn = {};
    await world.clock.advance(400_000);
    expect((await world.volume())?.sizeBytes).to.equal(String(2 * 1024 ** 3));
  });

  for (const call of ['expand', 'observe'] as const)
    it(`is made at once with a new value of its secret, and not with that of another one: ${call}`, async () => {
      await world.writeSecret('token', 'first');
      world.driver.failsOn = { observe: 'CredentialsRejected', expand: 'CredentialsRejected' };
      if (call === 'observe')
        world.driver.failsOn = { ...world.driver.failsOn, provision: 'Timeout' };
      await world.createVolume({ parameters: { token: 'secret:token/key' } });
      if (call === 'expand')
        await modify(world.store, volumes, key, (volume) => ({ ...volume, size: '2Gi' }));
      await world.clock.advance(hour);
      const before = count(call);
      expect(before).to.be.greaterThan(5);
      await world.writeSecret('other', 'second');
      expect(count(call)).to.equal(before);
      world.driver.failsOn = {};
      await world.writeSecret('token', 'second');
      expect(count(call)).to.equal(before + 1);
      expect(await world.volume()).to.include({ status: 'Available' });
    });

  it('to expand a volume leaves the request cancellable, by its actual size', async () => {
    await failForLong();
    const condition = async () =>
      (await world.volume())?.conditions?.find(({ type }) => type === 'Resizing');
    expect(await condition()).to.include({ status: 'True', reason: 'Unavailable' });
    expect((await condition())?.message).to.match(
      /; to cancel the resize, set its size to 1073741824 bytes$/,
    );
    await modify(world.store, volumes, key, (volume) => ({ ...volume, size: '1Gi' }));
    await settle();
    world.driver.failsOn = {};
    await world.clock.advance(400_000);
    expect(await condition()).to.include({ status: 'False', reason: 'Resized' });
    expect((await world.volume())?.sizeBytes).to.equal(String(1024 ** 3));
    const calls = count('expand');
    await world.clock.advance(hour);
    expect(count('expand')).to.equal(calls);
  });

  it('is repeated not before the time in the status', async () => {
    const calls = await failForLong();
    const shown = Date.parse((await world.volume())?.lastOperation?.nextTryAt ?? '');
    await world.clock.advance(shown - world.clock.now() - 1_000);
    expect(count('expand')).to.equal(calls);
    await world.clock.advance(120_000);
    expect(count('expand')).to.equal(calls + 1);
  });

  it('is repeated at the time that is shown also while another node of the volume is missing', async () => {
    await world.createVolume({ accessMode: 'ReadOnlyMany' });
    await world.store.create(nodes, { name: 'a' });
    world.driver.failsOn = { detach: 'Unavailable' };
    const held = (node: string, state: Attachment['state']): Attachment => ({
      claim: `default/on-${node}`,
      node,
      state,
    });
    const attachments = [held('a', 'Detaching'), held('missing', 'Attached')];
    await world.store.updateStatus(volumes, key, { status: 'Bound', attachments });
    await settle();
    // A node is gone after nodeGoneMs, one minute. The backoff doubles from a second.
    const waits: number[] = [];
    for (const calls of [1, 2, 3, 4]) {
      expect(count('detach')).to.equal(calls);
      const shown = Date.parse((await world.volume())?.lastOperation?.nextTryAt ?? '');
      waits.push(shown - world.clock.now());
      await world.clock.advance(shown - world.clock.now() + 1_000);
    }
    expect(waits[3]).to.be.greaterThan(4 * (waits[0] ?? 0));
    const states = async () => (await world.volume())?.attachments?.map(({ state }) => state);
    expect(await states()).to.deep.equal(['Detaching', 'Attached']);
    await world.clock.advance(60_000);
    expect(await states()).to.deep.equal(['Detaching', 'Detaching']);
  });

  it('is repeated not before the time that the provider named, however far', async () => {
    world.driver.retryAfterMs = 20 * 60_000;
    await fail();
    await world.clock.advance(19 * 60_000);
    expect(count('expand')).to.equal(1);
    await world.clock.advance(2 * 60_000);
    expect(count('expand')).to.equal(2);
  });

  it('is not caused by reports about it: the record of a call, or the status of its service', async () => {
    const calls = await failForLong();
    const lastOperation = (await world.volume())!.lastOperation!;
    for (const message of ['one', 'two'])
      await world.store.updateStatus(volumes, key, {
        lastOperation: { ...lastOperation, message },
      });
    const service = { namespace: 'default', name: 'web' };
    await world.store.updateStatus(services, service, { status: 'Degraded' });
    await settle();
    expect(count('expand')).to.equal(calls);
  });

  it('is repeated at once when its object changes', async () => {
    const calls = await failForLong();
    world.driver.failsOn = {};
    await modify(world.store, volumes, key, (volume) => ({ ...volume, size: '3Gi' }));
    await settle();
    expect(count('expand')).to.equal(calls + 1);
    expect((await world.volume())?.sizeBytes).to.equal(String(3 * 1024 ** 3));
  });

  it('has its failures counted over a restart', async () => {
    const calls = await failForLong();
    await world.restart();
    const again = count('expand') - calls;
    expect(again).to.be.at.most(1);
    await world.clock.advance(60_000);
    expect(count('expand') - calls).to.equal(again);
  });

  it('writes each failure once', async () => {
    await fail();
    const before = (await world.store.list(volumes)).revision;
    const calls = count('expand');
    await world.clock.advance(30_000);
    const { revision } = await world.store.list(volumes);
    expect(revision - before).to.equal(count('expand') - calls);
  });

  it('has the same backoff for snapshots', async () => {
    await world.createVolume();
    world.driver.failsOn = { createSnapshot: 'Throttled' };
    await world.store.create(snapshots, {
      namespace: 'default',
      name: 's',
      source: { volume: 'v' },
      metadata: { finalizers: [snapshotFinalizer] },
    });
    await settle();
    expect(count('createSnapshot')).to.equal(1);
    await world.clock.advance(15_000);
    expect(count('createSnapshot')).to.be.within(3, 6);
    world.driver.failsOn = {};
    await world.clock.advance(60_000);
    const snapshot = await world.store.get(snapshots, { namespace: 'default', name: 's' });
    expect(snapshot?.status).to.equal('Ready');
  });
});

describe('a driver call for an object that was read before', () => {
  const object = (uid: string) => ({
    namespace: 'default',
    name: 'v',
    metadata: { uid, resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' },
  });
  type Seen = ReturnType<typeof object>;
  const judged = (current: Seen | undefined, type: 'here' | 'elsewhere') => () =>
    requireCallHere(volumes, object('a'), current, () => ({ type }));

  it('is made for an object that this process owns, and not for a later one of its name', () => {
    expect(judged(object('a'), 'here')).to.not.throw();
    for (const [current, type] of [
      [object('a'), 'elsewhere'],
      [object('b'), 'here'],
      [undefined, 'here'],
    ] as const)
      expect(judged(current, type)).to.throw().with.property('reason', 'Conflict');
  });
});
