import { expect } from 'chai';
import { CallbackFaults, silentLogger } from '../../base/index.js';
import { type ApiObject, defineKind, type ObjectKey } from '../../object/index.js';
import { SharedInformer } from '../../informer/index.js';
import { type EmbeddedStore, MemoryEngine, openStore } from '../../store/index.js';
import { settle } from '../../testing/index.js';
import { registerWatch } from './watches.js';

interface Bulb extends ApiObject {
  readonly lamp: string;
}
const bulbs = defineKind<Bulb>({
  kind: 'Bulb',
  plural: 'bulbs',
  scope: 'Cluster',
  statusFields: [],
});
const lampOf = ({ lamp }: Bulb): readonly ObjectKey[] => [{ name: lamp }];

describe('keys that the deletion of an object queues', () => {
  let store: EmbeddedStore;
  let informer: SharedInformer<Bulb>;
  let queued: string[];

  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    informer = new SharedInformer({
      source: store.source(bulbs),
      name: 'bulbs',
      logger: silentLogger,
    });
    queued = [];
    registerWatch<Bulb>({
      informer,
      kind: 'Bulb',
      map: lampOf,
      name: 'test',
      faults: new CallbackFaults({ part: 'test', logger: silentLogger }),
      wake: ({ key }) => void queued.push(key),
    });
    informer.start();
    await informer.waitForSync();
  });
  afterEach(async () => {
    await informer.close();
    await store.close();
  });

  const queuedKeys = async (): Promise<readonly string[]> => {
    await settle();
    return queued.splice(0).sort();
  };

  it('include the lamp that it had before the write that removed it', async () => {
    await store.create(bulbs, { name: 'b', lamp: 'old', metadata: { finalizers: ['test/held'] } });
    await store.deleteByName(bulbs, { name: 'b' });
    expect(await queuedKeys()).to.deep.equal(['old', 'old']);
    await store.overwrite(bulbs, { name: 'b', lamp: 'new', metadata: { finalizers: [] } });
    expect(await queuedKeys()).to.deep.equal(['new', 'old']);
  });

  it('include the lamp that was delivered last if changes were coalesced', async () => {
    await store.create(bulbs, { name: 'b', lamp: 'one' });
    await store.create(bulbs, { name: 'c', lamp: 'one' });
    expect(await queuedKeys()).to.deep.equal(['one', 'one']);
    // In one turn: the watch delivers only the deletion, or only the new object.
    await Promise.all([
      store.overwrite(bulbs, { name: 'b', lamp: 'two' }),
      store.overwrite(bulbs, { name: 'c', lamp: 'two' }),
      store.deleteByName(bulbs, { name: 'b' }),
      store.deleteByName(bulbs, { name: 'c' }),
      store.create(bulbs, { name: 'c', lamp: 'three' }),
    ]);
    const keys = new Set(await queuedKeys());
    expect([...keys]).to.include.members(['one', 'three']);
  });
});

describe('the map of a watch', () => {
  it('gets the other state of an update, and none for a creation or deletion', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    const informer = new SharedInformer({
      source: store.source(bulbs),
      name: 'bulbs',
      logger: silentLogger,
    });
    const calls = new Set<string>();
    registerWatch<Bulb>({
      informer,
      kind: 'Bulb',
      map: ({ lamp }, other) => {
        calls.add(`${lamp} ${other?.lamp ?? '-'}`);
        return [];
      },
      name: 'test',
      faults: new CallbackFaults({ part: 'test', logger: silentLogger }),
      wake: () => undefined,
    });
    informer.start();
    await informer.waitForSync();
    await store.create(bulbs, { name: 'b', lamp: 'old' });
    await settle();
    await store.overwrite(bulbs, { name: 'b', lamp: 'new' });
    await settle();
    await store.deleteByName(bulbs, { name: 'b' });
    await settle();
    expect([...calls]).to.deep.equal(['old -', 'old new', 'new old', 'new -']);
    await informer.close();
    await store.close();
  });
});
