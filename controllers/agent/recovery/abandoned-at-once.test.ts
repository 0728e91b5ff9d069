import { expect } from 'chai';
import {
  Manager,
  MemoryEngine,
  openStore,
  type ObjectStore,
  seededRandom,
  silentLogger,
  systemClock,
} from 'kedge';
import { instances } from '../../instance/kind.js';
import { PlayedRuntime } from '../../testing/played-runtime.js';
import { AbandonedWaits } from './abandoned-waits.js';
import { AbandonedWorkloads } from './abandoned-workloads.js';

describe('workloads whose instance is not known to the agent', () => {
  let store: ObjectStore;
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
  });
  afterEach(() => store.close());

  const start = async (runtime: PlayedRuntime, name: string, node: string): Promise<string> => {
    const key = { namespace: 'default', name };
    const made = await store.create(instances, {
      ...key,
      service: 's',
      ordinal: 0,
      node,
      template: {},
    });
    const { uid } = made.metadata;
    runtime.states.set(uid, { state: 'running', run: 1, pid: 1, startedAt: 0 });
    return uid;
  };
  const abandonedOf = (runtime: PlayedRuntime): AbandonedWorkloads =>
    new AbandonedWorkloads({ store, node: 'n', runtimes: [runtime], logger: silentLogger });

  it('are stopped when the instance is on another node, and not when it is on this one', async () => {
    const runtime = new PlayedRuntime();
    const here = await start(runtime, 'here', 'n');
    await start(runtime, 'away', 'm');
    await abandonedOf(runtime).requestStop(() => false);
    expect(await runtime.workloads()).to.deep.equal([here]);
  });

  it('are not stopped if they were started during the check', async () => {
    const runtime = new PlayedRuntime();
    const listed = runtime.workloads.bind(runtime);
    let uid = '';
    runtime.workloads = async () => {
      runtime.workloads = listed;
      uid = await start(runtime, 'new', 'n');
      return listed();
    };
    await abandonedOf(runtime).requestStop(() => false);
    expect(await runtime.workloads()).to.deep.equal([uid]);
  });

  it('are searched twice when many instances request it at the same time', async () => {
    const runtime = new PlayedRuntime();
    const listed = runtime.workloads.bind(runtime);
    let lists = 0;
    runtime.workloads = () => {
      lists += 1;
      return listed();
    };
    const manager = new Manager({
      store,
      clock: systemClock,
      random: seededRandom(1),
      logger: silentLogger,
    });
    const waits = new AbandonedWaits({ manager, node: 'n', abandoned: abandonedOf(runtime) });
    const keys = Array.from({ length: 50 }, (_, n) => ({ namespace: 'default', name: `i-${n}` }));
    const results = await Promise.all(keys.map((key) => waits.stopFor(key)));
    expect(results).to.deep.equal(keys.map(() => undefined));
    expect(lists).to.equal(2);
  });
});
