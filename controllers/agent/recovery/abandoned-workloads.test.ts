import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  seededRandom,
  silentLogger,
  StatusError,
  systemClock,
} from 'kedge';
import { eventually, reachState } from 'kedge/testing';
import { instances } from '../../instance/kind.js';
import { secrets } from '../../secret/kind.js';
import { volumes } from '../../volume/kind.js';
import { parameterResolver, Sealer } from '../../secret/index.js';
import { defaultPolicy } from '../../policy/policy.js';
import { PlayedDriver } from '../../testing/played-driver.js';
import { Agent } from '../agent.js';
import { DataFiles, dataFilesDirectory } from '../inputs/data-files.js';
import { ProcessRuntime } from '../process/process-runtime.js';
import { VolumeManager } from '../volumes/volume-manager.js';

const key = { namespace: 'default', name: 'i' };
/** The budget of a stop and of a wait: on a machine under load, a process alone takes seconds to start. */
const budgetMs = 60_000;
const volumeKey = { namespace: 'default', name: 'v' };

describe('a process whose instance was removed from its node', function () {
  this.timeout(180_000);
  let directory: string;
  let store: ObjectStore;
  let runtime: ProcessRuntime;
  let manager: Manager;
  let driver: PlayedDriver;
  /** Whether a process ran at each detach. */
  let ranAtDetach: boolean[];
  let pid: number;

  const alive = (): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  const processes = () =>
    new ProcessRuntime({
      directory: join(directory, 'instances'),
      hiddenDirectories: [],
      clock: systemClock,
    });

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-abandoned-'));
    store = await openStore({ engine: new MemoryEngine() });
    driver = new PlayedDriver();
    runtime = processes();
    ranAtDetach = [];
  });
  afterEach(async () => {
    await manager.stop(budgetMs);
    for (const id of await runtime.workloads()) await runtime.stop(id, 0);
    await store.close();
    await rm(directory, { recursive: true });
  });

  /** Starts an agent of node `n` with the store `seen`. */
  async function startAgent(seen = store): Promise<void> {
    manager = new Manager({ store: seen, clock: systemClock, random: seededRandom(1) });
    const sealer = new Sealer(randomBytes(32));
    const common = {
      store: seen,
      manager,
      clock: systemClock,
      random: seededRandom(1),
      logger: silentLogger,
      node: 'n',
      policy: defaultPolicy,
    };
    const played = await driver.registry().get('played');
    const watched = {
      ...played!,
      detach: (request: Parameters<NonNullable<typeof played>['detach']>[0]) => {
        ranAtDetach.push(alive());
        return played!.detach(request);
      },
    };
    const volumeManager = new VolumeManager({
      ...common,
      drivers: { names: ['played'], get: () => Promise.resolve(watched) },
      resolver: parameterResolver(manager.informer(secrets).lister, sealer),
      mountRoot: join(directory, 'mounts'),
      mayMount: false,
    });
    const dataFiles = new DataFiles(dataFilesDirectory(directory), directory);
    manager.addRunnable(
      new Agent({ ...common, runtimes: [runtime], volumeManager, sealer, dataFiles }),
    );
    await manager.start();
  }

  const create = (node: string) =>
    store.create(instances, {
      ...key,
      service: 's',
      ordinal: 0,
      node,
      template: { runtime: 'process', command: ['/bin/sleep', '600'] },
    });

  /** Creates a volume that is attached to the instance according to the store. */
  async function attach(): Promise<void> {
    await store.create(volumes, {
      ...volumeKey,
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
    });
    await reachState(store, volumes, volumeKey, 'Bound', {
      driver: 'played',
      handle: '/h',
      boundClaim: 'default/i',
      boundNode: 'n',
      attachments: [{ claim: 'default/i', node: 'n', state: 'Attached' }],
    });
  }

  async function run(): Promise<string> {
    const { metadata } = await create('n');
    pid = 0;
    await eventually(
      'the process',
      async () => {
        pid = (await store.get(instances, key))?.pid ?? 0;
        return pid > 0;
      },
      budgetMs,
    );
    return metadata.uid;
  }

  /** Waits until the workload runs, because a start may continue in the background. Returns its pid. */
  async function running(id: string): Promise<number> {
    let found = 0;
    await eventually(
      'the workload runs',
      async () => {
        const state = await runtime.observe(id);
        found = state.state === 'running' ? state.pid : 0;
        return found > 0;
      },
      budgetMs,
    );
    return found;
  }

  const released = () =>
    eventually(
      'the volume to be free',
      async () => (await store.get(volumes, volumeKey))?.attachments?.length === 0,
      budgetMs,
    );

  it('ends before its volumes are detached', async () => {
    await startAgent();
    await run();
    await attach();
    await store.deleteByName(instances, key);
    await released();
    expect(ranAtDetach).to.deep.equal([false]);
    expect(await runtime.workloads()).to.deep.equal([]);
  });

  it('ends although its instance was recreated on another node', async () => {
    await startAgent();
    await run();
    await attach();
    await store.deleteByName(instances, key);
    await create('m');
    await released();
    expect(ranAtDetach).to.deep.equal([false]);
    expect(await store.get(instances, key)).to.include({ node: 'm' });
  });

  it('ends at the start of an agent that did not run meanwhile, and others continue', async () => {
    const spec = { command: ['/bin/sleep', '600'], env: {}, workingDir: '/', mounts: [] };
    const kept = await create('n');
    const gone = '00000000-0000-4000-8000-000000000000';
    for (const id of [gone, kept.metadata.uid]) await runtime.start({ ...spec, id });
    pid = await running(gone);
    await running(kept.metadata.uid);
    expect(alive()).to.equal(true);
    await attach();
    await store.updateStatus(volumes, volumeKey, {
      attachments: [{ claim: 'default/gone', node: 'n', state: 'Attached' }],
    });
    await startAgent();
    await released();
    expect(ranAtDetach).to.deep.equal([false]);
    expect(await runtime.observe(kept.metadata.uid)).to.include({ state: 'running', run: 1 });
  });

  describe('without a notification of the agent', () => {
    const gone = '00000000-0000-4000-8000-000000000000';
    beforeEach(async () => {
      await startAgent();
      await run();
      await attach();
      const spec = { command: ['/bin/sleep', '600'], env: {}, workingDir: '/', mounts: [] };
      await runtime.start({ ...spec, id: gone });
      pid = await running(gone);
      expect(alive()).to.equal(true);
    });

    it('ends with the daemon, before the volumes are detached', async () => {
      await manager.stop(budgetMs);
      expect(alive()).to.equal(false);
      expect(await runtime.workloads()).to.not.include(gone);
      expect(ranAtDetach).to.deep.equal([false]);
      expect((await store.get(volumes, volumeKey))?.attachments).to.deep.equal([]);
    });

    it('prevents the detach of the volumes of the node while it survives', async () => {
      const stop = runtime.stop.bind(runtime);
      runtime.stop = (id, graceMs) =>
        id === gone ? Promise.reject(new Error('process 1 survives SIGKILL')) : stop(id, graceMs);
      await manager.stop(budgetMs);
      runtime.stop = stop;
      expect(alive()).to.equal(true);
      expect(ranAtDetach).to.deep.equal([]);
      expect((await store.get(volumes, volumeKey))?.attachments).to.have.length(1);
    });
  });

  it('ends, and its claim is released, once its node is refused an instance that another node has', async () => {
    let refusals = 0;
    const refusing = new Proxy(store, {
      get: (target, name) => {
        if (name === 'get')
          return async (...[kind, of]: Parameters<ObjectStore['get']>) => {
            const found = await target.get(kind, of);
            if (kind.kind !== instances.kind || (found as { node?: string })?.node !== 'm')
              return found;
            refusals += 1;
            throw new StatusError({
              code: 'PermissionDenied',
              reason: 'Forbidden',
              message: 'this instance is on another node',
            });
          };
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    await startAgent(refusing);
    await run();
    await attach();
    await store.deleteByName(instances, key);
    await create('m');
    await released();
    expect(ranAtDetach).to.deep.equal([false]);
    expect(refusals).to.be.within(1, 5);
  });
});
