import { expect } from 'chai';
import {
  findCondition,
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  seededRandom,
} from 'kedge';
import { FakeClock } from 'kedge/testing';
import { nodes } from '../kinds/index.js';
import { defaultPolicy } from '../policy.js';
import { nodeController } from './controller.js';

describe('a node that is Ready and tells nothing of itself', () => {
  let clock: FakeClock;
  let store: ObjectStore;
  let manager: Manager;

  beforeEach(async () => {
    clock = new FakeClock();
    store = await openStore({ engine: new MemoryEngine(), clock });
    manager = new Manager({ store, clock, random: seededRandom(1) });
    manager.addController(nodeController({ store, manager, clock, policy: defaultPolicy }));
    await manager.start();
  });
  afterEach(async () => {
    const stopping = manager.stop(0);
    await clock.advance(10_000);
    await stopping;
    await store.close();
  });

  it('is NotReady after a while, also when it never told anything', async () => {
    await store.create(nodes, { name: 'n' });
    await store.updateStatus(nodes, { name: 'n' }, { status: 'Ready' });
    await clock.advance(defaultPolicy.nodeSilentMs + 1_000);
    const node = await store.get(nodes, { name: 'n' });
    expect(node?.status).to.equal('NotReady');
    expect(findCondition(node?.conditions, 'Ready')?.message).to.match(
      /^told nothing of itself since it was said to be Ready; /,
    );
  });
});
