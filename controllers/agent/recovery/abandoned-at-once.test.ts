import { expect } from 'chai';
import { MemoryEngine, openStore, type ObjectStore, silentLogger } from 'kedge';
import { instances } from '../../instance/kind.js';
import { PlayedRuntime } from '../../testing/played-runtime.js';
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

  it('are not stopped when they were started while this was asked', async () => {
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
});
