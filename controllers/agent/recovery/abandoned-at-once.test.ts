import { expect } from 'chai';
import {
  type Logger,
  Manager,
  MemoryEngine,
  openStore,
  type ObjectStore,
  seededRandom,
  silentLogger,
  systemClock,
} from 'kedge';
import { RecordingLogger } from 'kedge/testing';
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
  const abandonedOf = (runtime: PlayedRuntime, logger: Logger = silentLogger): AbandonedWorkloads =>
    new AbandonedWorkloads({ store, node: 'n', runtimes: [runtime], logger });

  it('are stopped when the instance is on another node, and not when it is on this one', async () => {
    const runtime = new PlayedRuntime();
    const here = await start(runtime, 'here', 'n');
    await start(runtime, 'away', 'm');
    await abandonedOf(runtime).requestStop(() => false);
    expect(await runtime.workloads()).to.deep.equal([here]);
  });

  it('delay no other workload once they have ended, also if they can not be removed, which is logged once', async () => {
    const runtime = new PlayedRuntime();
    const uid = await start(runtime, 'away', 'm');
    // The removal fails, so that the runtime still has it.
    runtime.workloads = () => Promise.resolve([uid]);
    runtime.removalsFail = 'its directory is busy';
    const logger = new RecordingLogger();
    const abandoned = abandonedOf(runtime, logger);
    for (let call = 0; call < 3; call += 1)
      expect(await abandoned.requestStop(() => false)).to.deep.equal({ type: 'gone' });
    expect(logger.lines.map(({ message }) => message)).to.deep.equal([
      'a workload without an instance on this node is stopped',
      'a workload without an instance has ended, and remains',
    ]);
  });

  it('are stopped also if the stops of others fail, and the error names each of these', async () => {
    const runtime = new PlayedRuntime();
    const stuck = [await start(runtime, 'first', 'm'), await start(runtime, 'second', 'm')];
    await start(runtime, 'away', 'm');
    const requested = runtime.requestStop.bind(runtime);
    runtime.requestStop = (id, graceMs) =>
      stuck.includes(id)
        ? Promise.reject(new Error(`${id} survives SIGKILL`))
        : requested(id, graceMs);
    const error = await abandonedOf(runtime)
      .requestStop(() => false)
      .catch(String);
    for (const id of stuck) expect(error).to.contain(`${id} survives SIGKILL`);
    expect(await runtime.workloads()).to.have.members(stuck);
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
