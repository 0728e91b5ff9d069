import { expect } from 'chai';
import { hasCode, seededRandom, silentLogger, systemClock } from '../../base/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import type { EffectOperation, EffectStart } from './effect.js';
import { effectOperations } from '../transactions/effect-guard.js';
import { effectRecords, type EffectState } from './effect-records.js';
import { Effects } from './effects.js';
import { Journal } from './journal.js';
import { runTransaction } from '../transactions/transaction.js';

const disks = defineKind<ApiObject>({
  kind: 'Disk',
  plural: 'disks',
  scope: 'Cluster',
  statusFields: [],
});

describe('effects of one object that several controllers request', () => {
  let store: ObjectStore;
  let disk: ApiObject;

  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    disk = await store.create(disks, { name: 'a', metadata: { finalizers: ['kedge/disk'] } });
  });
  afterEach(() => store.close());

  const effectsOf = (controller: string, over: ObjectStore = store): Effects =>
    new Effects({
      ...{ store: over, controller, clock: systemClock, logger: silentLogger },
      random: seededRandom(controller.length),
      journal: new Journal(over, controller),
    });
  const operate = (effects: Effects, name: string, operation: EffectOperation<string>) =>
    effects.operate('a', disks, disk, name, operation);
  const states = async (): Promise<Readonly<Record<string, EffectState>>> =>
    (await store.get(effectRecords, { name: disk.metadata.uid }))?.effects ?? {};
  const starts = (id: string): EffectOperation<string> => ({
    start: () => Promise.resolve({ type: 'started', operationId: id, pollAfterMs: 1_000 }),
    poll: () => Promise.resolve({ type: 'pending', pollAfterMs: 1_000 }),
  });

  /** Removes the finalizer in a transaction of a run that received no outcome. */
  const removeFinalizer = () =>
    runTransaction(
      store,
      async (transaction) => {
        const held = await transaction.get(disks, { name: 'a' });
        if (!held) return;
        transaction.update(disks, { ...held, metadata: { ...held.metadata, finalizers: [] } });
      },
      (_made, attempt) => effectOperations(store, attempt, []),
      () => undefined,
    );

  it('a late answer does not change the operation that started after the effect had ended', async () => {
    let answer: (start: EffectStart<string>) => void = () => undefined;
    const late = operate(effectsOf('late'), 'make', {
      ...starts(''),
      start: () => new Promise((resolve) => (answer = resolve)),
    }).catch((error: unknown) => error);
    const quick = effectsOf('quick');
    while (!(await states())['make']) await store.transact([]);
    await operate(quick, 'make', {
      ...starts(''),
      start: () => Promise.resolve({ type: 'done', result: 'vol-1' }),
    });
    await quick.ids('a', disks, disk).clear('make');
    await operate(quick, 'make', starts('second'));
    answer({ type: 'started', operationId: 'first', pollAfterMs: 1_000 });
    const refused = await late;
    expect(hasCode(refused, 'Aborted') && refused.reason).to.equal('EffectTakenOver');
    expect((await states())['make']).to.include({ phase: 'pending', operationId: 'second' });
  });

  it('do not start for an object that was deleted after it was read, even if another object has its name', async () => {
    let starts = 0;
    const counted: EffectOperation<string> = {
      start: () => Promise.resolve({ type: 'done', result: `vol-${(starts += 1)}` }),
      poll: () => Promise.resolve({ type: 'pending', pollAfterMs: 1_000 }),
    };
    const begin = () =>
      operate(effectsOf('late'), 'make', counted).then(
        () => 'begun',
        (error: unknown) => (hasCode(error, 'NotFound') || hasCode(error, 'Aborted')) && error.code,
      );
    await removeFinalizer();
    await store.deleteByName(disks, { name: 'a' });
    expect(await begin()).to.equal('NotFound');
    await store.create(disks, { name: 'a' });
    expect(await begin()).to.equal('Aborted');
    expect(starts).to.equal(0);
    expect((await store.list(effectRecords)).items).to.deep.equal([]);
  });

  it('are all stored, also if writes of the record conflict', async () => {
    await operate(effectsOf('first'), 'make', starts('1'));
    const grow = effectsOf('other');
    let crossed = false;
    const crossing: ObjectStore = new Proxy(store, {
      get: (target, name) => {
        if (name === 'transact')
          return async (...args: Parameters<ObjectStore['transact']>) => {
            if (!crossed) await operate(grow, 'grow', starts('2'));
            crossed = true;
            return target.transact(...args);
          };
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    await operate(effectsOf('first', crossing), 'check', starts('3'));
    expect(crossed).to.equal(true);
    const ids = Object.entries(await states()).map(([name, state]) => [
      name,
      state.phase === 'pending' ? state.operationId : state.phase,
    ]);
    expect(Object.fromEntries(ids)).to.deep.equal({ make: '1', grow: '2', check: '3' });
  });

  it('belong to the key that requested them last, which a restart queues', async () => {
    const first = effectsOf('disk');
    await operate(first, 'make', starts('1'));
    await first.operate('b', disks, disk, 'make', starts('1'));
    expect(await effectsOf('disk').load()).to.deep.equal(['b']);
    await effectsOf('other').operate('c', disks, disk, 'make', starts('1'));
    expect(await effectsOf('disk').load()).to.deep.equal([]);
    expect(await effectsOf('other').load()).to.deep.equal(['c']);
  });

  it('keep the finalizer also while the outcome of a call is unknown', async () => {
    const lost = effectsOf('first').call('a', disks, disk, 'make', () =>
      Promise.reject(new Error('no answer')),
    );
    expect(String(await lost.catch((error: unknown) => error))).to.contain('no answer');
    const refused: unknown = await removeFinalizer().catch((error: unknown) => error);
    expect(hasCode(refused, 'FailedPrecondition') && refused.reason).to.equal('EffectPending');
    expect(await store.get(disks, { name: 'a' })).to.not.equal(undefined);
  });

  it('keep the finalizer of an object that was recreated between the check and the commit of an overwrite', async () => {
    const finalizers = ['kedge/disk'];
    let checks = 0;
    const replace = async (): Promise<void> => {
      await store.overwrite(disks, { name: 'a', metadata: { finalizers: [] } });
      await store.deleteByName(disks, { name: 'a' });
      disk = await store.create(disks, { name: 'a', metadata: { finalizers } });
      await operate(effectsOf('first'), 'make', starts('1'));
    };
    const overwritten = runTransaction(
      store,
      (transaction) => transaction.overwrite(disks, { name: 'a', metadata: { finalizers: [] } }),
      async (_made, attempt) => {
        const operations = await effectOperations(store, attempt, []);
        if ((checks += 1) === 1) await replace();
        return operations;
      },
      () => undefined,
    );
    const refused: unknown = await overwritten.catch((error: unknown) => error);
    expect(hasCode(refused, 'FailedPrecondition') && refused.reason).to.equal('EffectPending');
    expect((await store.get(disks, { name: 'a' }))?.metadata.finalizers).to.deep.equal(finalizers);
  });

  it('the commit that removes the object also removes outcomes that no run received', async () => {
    await effectsOf('first').call('a', disks, disk, 'make', () => Promise.resolve('vol-1'));
    await store.deleteByName(disks, { name: 'a' });
    const before = store.revision;
    await removeFinalizer();
    expect(store.revision, 'one commit').to.equal(before + 1);
    expect(await store.get(disks, { name: 'a' })).to.equal(undefined);
    expect(await states()).to.deep.equal({});
  });
});
