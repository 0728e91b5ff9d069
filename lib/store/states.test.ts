import { expect } from 'chai';
import { hasCode, type StatusError } from '../base/index.js';
import { type ApiObject, defineKind, stateMachine } from '../object/index.js';
import { reachState } from '../testing/index.js';
import { MemoryEngine, type ObjectStore, openStore, removeFinalizer } from './index.js';

interface Lamp extends ApiObject {
  readonly phase?: 'Off' | 'Warming' | 'On' | 'Broken';
  readonly watts?: number;
}

const plain = {
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: ['phase', 'watts'],
} as const;
/** The kind as declared by an earlier release. */
const earlier = defineKind<Lamp>(plain);
const moves = { Off: ['Warming'], Warming: ['On', 'Off'], On: ['Off'], Broken: [] } as const;
const lamps = defineKind<Lamp>({
  ...plain,
  states: stateMachine('phase', 'Off', moves, { removable: ['Off', 'Broken'] }),
});
const key = { name: 'a' };

async function refusal(work: Promise<unknown>): Promise<StatusError> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!hasCode(thrown, 'FailedPrecondition')) throw new Error(`not refused: ${String(thrown)}`);
  expect(thrown.reason).to.equal('IllegalTransition');
  expect(thrown.resource).to.include({ kind: 'Lamp', name: 'a' });
  return thrown;
}

describe('states of a kind', () => {
  let store: ObjectStore;
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
  });
  afterEach(() => store.close());

  it('refuse a status write and a transaction that skip a state, with the allowed transitions', async () => {
    await store.create(lamps, key);
    const direct = await refusal(store.updateStatus(lamps, key, { phase: 'On', watts: 60 }));
    expect(direct.message).to.equal(
      'Lamp "a" has an invalid transition of phase from Off to "On"; allowed: Warming',
    );
    const op = 'updateStatus';
    const warming = { op, kind: lamps, key, status: { phase: 'Warming' } } as const;
    const off = { op, kind: lamps, key, status: { phase: 'Off' } } as const;
    const on = { op, kind: lamps, key, status: { phase: 'On' } } as const;
    await refusal(store.transact([warming, off, on]));
    expect(await store.get(lamps, key)).to.include({ phase: 'Off' });
    await store.transact([warming, on]);
    expect(await store.get(lamps, key)).to.include({ phase: 'On' });
  });

  it('refuse an object that starts in another state than the initial one', async () => {
    const born = await refusal(store.create(lamps, { ...key, phase: 'On' }));
    expect(born.message).to.equal(
      'Lamp "a" has an invalid transition of phase from its creation to "On"; allowed: Off',
    );
    expect(await store.get(lamps, key)).to.equal(undefined);
    expect(await store.create(lamps, { ...key, phase: 'Off' })).to.include({ phase: 'Off' });
  });

  it('refuse to remove the phase, and accept it unchanged', async () => {
    await store.create(lamps, key);
    await refusal(store.updateStatus(lamps, key, { phase: undefined } as never));
    await store.updateStatus(lamps, key, { phase: 'Off', watts: 40 });
    expect(await store.get(lamps, key)).to.include({ phase: 'Off', watts: 40 });
  });

  it('refuse a removal in states that are not removable, with and without finalizers', async () => {
    await store.create(lamps, key);
    await reachState(store, lamps, key, 'On');
    const lit = await refusal(store.deleteByName(lamps, key));
    expect(lit.message).to.equal(
      'Lamp "a" can\'t be removed while its phase is On; it can be removed only in Off, Broken',
    );
    const held = (await store.get(lamps, key))!;
    await store.update(lamps, { ...held, metadata: { ...held.metadata, finalizers: ['x/y'] } });
    await store.deleteByName(lamps, key);
    const leaving = (await store.get(lamps, key))!;
    await refusal(removeFinalizer(store, lamps, leaving, 'x/y'));
    await refusal(store.overwrite(lamps, { ...key, metadata: { finalizers: [] } }));
    await store.updateStatus(lamps, key, { phase: 'Off' });
    await removeFinalizer(store, lamps, leaving, 'x/y');
    expect(await store.get(lamps, key)).to.equal(undefined);
  });

  it('treat an object from before the kind had states as one in the initial state', async () => {
    await store.create(earlier, key);
    await store.updateStatus(lamps, key, { watts: 40 });
    await refusal(store.updateStatus(lamps, key, { phase: 'On' }));
    await store.updateStatus(lamps, key, { phase: 'Warming' });
    expect(await store.get(lamps, key)).to.include({ phase: 'Warming' });
  });

  it('refuse to remove an object from before the kind had states if the initial state is not removable', async () => {
    const kept = defineKind<Lamp>({
      ...plain,
      states: stateMachine('phase', 'Off', moves, { removable: ['Broken'] }),
    });
    await store.create(earlier, key);
    const off = await refusal(store.deleteByName(kept, key));
    expect(off.message).to.contain("can't be removed while its phase is Off");
  });

  it('are reached in a test only by legal transitions', async () => {
    await store.create(lamps, key);
    await reachState(store, lamps, key, 'On', { watts: 60 });
    expect(await store.get(lamps, key)).to.include({ phase: 'On', watts: 60 });
    const refused = await reachState(store, lamps, key, 'Broken').catch(String);
    expect(refused).to.contain('no transitions lead from On to Broken');
  });
});
