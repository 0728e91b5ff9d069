import { expect } from 'chai';
import {
  done,
  type Event,
  fail,
  type Manager,
  type ObjectStore,
  type Request,
  type Result,
  retry,
  silentLogger,
  type StatusCode,
  StatusError,
} from 'kedge';
import { eventually, settle } from 'kedge/testing';
import { DriverError } from '@kedge/driver-sdk';
import { callAgain } from '../provisioned/retries.js';
import { StorageWorld } from '../testing/storage-world.js';
import { type Volume, volumes } from '../volume/kind.js';
import { events } from './kind.js';
import { reportingRefusals } from './reconcile-refusals.js';

describe('a reconcile of a volume that is refused', () => {
  let world: StorageWorld;
  /** The error of each write of a status and of each transaction; undefined: none. */
  let refusal: StatusError | undefined;

  /** The store of controllers, whose writes may be refused. Events are written. */
  const refusing = (inner: ObjectStore): ObjectStore =>
    new Proxy(inner, {
      get: (target, property): unknown => {
        const error = refusal;
        if (error && (property === 'transact' || property === 'updateStatus'))
          return () => Promise.reject(error);
        const value: unknown = Reflect.get(target, property);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  const refuse = (code: StatusCode, message = 'the rule says no') => {
    refusal = new StatusError({ code, reason: 'Refused', message });
  };

  beforeEach(async () => {
    refusal = undefined;
    world = await StorageWorld.start({ seenBy: refusing });
  });
  afterEach(() => world.stop());

  const create = (name = 'v') =>
    world.store.create(volumes, {
      ...{ namespace: 'default', name, storageClassName: 'c', size: '1Gi' },
      accessMode: 'ReadWriteOnce',
    });
  const recorded = async (): Promise<readonly Event[]> => {
    const { items } = await world.store.list(events);
    return items.toSorted((a, b) => a.lastSeenAt.localeCompare(b.lastSeenAt));
  };
  const reasons = async () => (await recorded()).map(({ type, reason }) => `${type} ${reason}`);
  /** Lets the volume be reconciled some times. */
  const runs = async (count: number): Promise<void> => {
    const until = world.volumeRuns + count;
    await eventually('the runs', async () => {
      await world.clock.advance(250);
      return world.volumeRuns >= until;
    });
    await settle();
  };

  it('is an event of the volume from the third time on, and its end is one', async () => {
    refuse('PermissionDenied');
    await create();
    await runs(2 - world.volumeRuns);
    expect([world.volumeRuns, await recorded()]).to.deep.equal([2, []]);
    await runs(3);
    const [event, ...more] = await recorded();
    expect(more).to.deep.equal([]);
    expect(event).to.deep.include({ type: 'Warning', reason: 'ReconcileRefused' });
    expect(event?.regarding).to.include({ kind: 'Volume', namespace: 'default', name: 'v' });
    expect(event?.message).to.equal(
      'the reconcile by the volume controller is refused (PermissionDenied) and retried automatically: the rule says no',
    );
    expect(event?.count).to.be.greaterThan(1);
    refusal = undefined;
    await runs(1);
    expect(await reasons()).to.deep.equal(['Warning ReconcileRefused', 'Normal Reconciled']);
  });

  it('ends also if it succeeds after a restart', async () => {
    refuse('InvalidArgument');
    await create();
    await runs(5);
    expect(await reasons()).to.deep.equal(['Warning ReconcileRefused']);
    refusal = undefined;
    await world.clock.advance(1_000);
    await world.restart();
    await eventually('the end', async () => (await reasons()).includes('Normal Reconciled'));
    await world.restart();
    await settle();
    const [, end] = await recorded();
    expect(end?.count, 'reported once').to.equal(1);
  });

  it('is no event for conflicts, and while the store does not answer', async () => {
    for (const code of ['Aborted', 'Unavailable', 'DeadlineExceeded', 'Cancelled'] as const) {
      refuse(code);
      await create(`v-${code.toLowerCase()}`);
      await runs(6);
    }
    expect(await recorded()).to.deep.equal([]);
  });

  it('names no secret, and is of bounded length', async () => {
    const token = `kedge_${'a'.repeat(16)}_${'S'.repeat(32)}`;
    refuse('InvalidArgument', `${token} kedge-sealed:v1:k:AAAA:BBBB- ${'x'.repeat(5_000)}`);
    await create();
    await runs(5);
    const [event] = await recorded();
    expect(event?.message)
      .to.contain('******** ******** xxx')
      .and.not.match(/SSSS|AAAA/);
    expect(event?.message.length).to.be.lessThan(1_200);
  });

  const refused = new StatusError({ code: 'NotFound', reason: 'Gone', message: 'm' });
  let result: Result;
  /** Runs a reconciler of objects that exist, by a new process. Each run has the present `result`. */
  const started = (store: ObjectStore = world.store): ((name: string) => Promise<Result>) => {
    const metadata = { resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
    const get = (key: string): Volume =>
      ({
        namespace: 'default',
        name: key.split('/')[1],
        metadata: { ...metadata, uid: key },
      }) as Volume;
    const { clock } = world;
    const reconcile = reportingRefusals(
      {
        ...{ store, clock, logger: silentLogger, source: 'test', kind: volumes },
        manager: { informer: () => ({ lister: { get } }) } as unknown as Manager,
      },
      () => Promise.resolve(result),
    );
    return (name) => reconcile({ key: { namespace: 'default', name } } as Request);
  };

  it('is counted for 4,096 objects at a time, and for others once these have ended', async () => {
    result = retry(refused);
    const run = started();
    for (let index = 0; index < 4_096; index += 1) await run(`many-${index}`);
    for (let times = 0; times < 5; times += 1) await run('late');
    await settle();
    expect(await recorded()).to.deep.equal([]);
    result = done();
    await run('many-0');
    result = retry(refused);
    for (let times = 0; times < 3; times += 1) await run('late');
    await settle();
    expect(await reasons()).to.deep.equal(['Warning ReconcileRefused']);
  });

  const ended = ['Warning ReconcileRefused', 'Normal Reconciled'];

  for (const [what, end] of [
    ['its driver fails', callAgain(new DriverError('Timeout', 'no answer'), 1_000)],
    ['it fails permanently', fail('PermissionDenied', 'forbidden')],
  ] as const)
    it(`ends also with a run whose report is written because ${what}`, async () => {
      const run = started();
      result = retry(refused);
      for (let times = 0; times < 3; times += 1) await run('v');
      await settle();
      result = retry(new Error('an engine'));
      await run('v');
      await settle();
      expect(await reasons()).to.deep.equal(ended.slice(0, 1));
      await world.clock.advance(1_000);
      result = end;
      await run('v');
      await settle();
      expect(await reasons()).to.deep.equal(ended);
    });

  it('ends after a restart also if the events could not be read at first', async () => {
    result = retry(refused);
    const earlier = started();
    for (let times = 0; times < 3; times += 1) await earlier('v');
    await settle();
    await world.clock.advance(1_000);
    let reads = 0;
    const silent = new StatusError({ code: 'Unavailable', reason: 'Silent', message: 'no answer' });
    const store = new Proxy<ObjectStore>(world.store, {
      get: (target, property): unknown => {
        const value: unknown = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        if (property !== 'list') return value.bind(target);
        return (...given: Parameters<ObjectStore['list']>) => {
          reads += 1;
          return reads === 1 ? Promise.reject(silent) : target.list(...given);
        };
      },
    });
    const run = started(store);
    result = done();
    for (let times = 0; times < 3; times += 1) await run('v');
    await settle();
    expect([reads, await reasons()]).to.deep.equal([1, ended.slice(0, 1)]);
    await world.clock.advance(5_000);
    for (let times = 0; times < 3; times += 1) await run('v');
    await settle();
    expect([reads, await reasons()]).to.deep.equal([2, ended]);
  });
});
