import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  type ListWatch,
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  seededRandom,
  silentLogger,
} from 'kedge';
import { eventually, FakeClock, reachState } from 'kedge/testing';
import { agentFinalizer } from '../../instance/index.js';
import { instances } from '../../instance/kind.js';
import { secrets } from '../../secret/kind.js';
import { type Volume, volumes } from '../../volume/kind.js';
import { parameterResolver, Sealer } from '../../secret/index.js';
import { defaultPolicy } from '../../policy/policy.js';
import { PlayedDriver } from '../../testing/played-driver.js';
import { PlayedRuntime } from '../../testing/played-runtime.js';
import { Agent } from '../agent.js';
import { DataFiles, dataFilesDirectory } from '../inputs/data-files.js';
import { VolumeManager } from '../volumes/volume-manager.js';

const volumeKey = { namespace: 'default', name: 'moving' };
const instanceKey = { namespace: 'default', name: 'web-0' };

describe('an instance that waits for a volume whose holder was never in the cache of its node', function () {
  this.timeout(60_000);
  let directory: string;
  let store: ObjectStore;
  let manager: Manager;
  let clock: FakeClock;
  /** Whether the token of the node gives no access to the volume, as for a node that does not use it. */
  let isHidden = false;

  /** The volumes that the agent's token can access. */
  function visible(source: ListWatch<Volume>): ListWatch<Volume> {
    return {
      list: (signal) => source.list(signal),
      watch: (revision, sink, signal, cursor) =>
        source.watch(
          revision,
          (batch) => sink(isHidden ? { ...batch, events: [] } : batch),
          signal,
          cursor,
        ),
    };
  }

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-missed-'));
    clock = new FakeClock();
    const random = seededRandom(1);
    store = await openStore({ engine: new MemoryEngine(), clock });
    const seen = new Proxy(store, {
      get: (target, name) => {
        if (name === 'source')
          return ((kind) =>
            kind.kind === volumes.kind
              ? visible(target.source(volumes))
              : target.source(kind)) as ObjectStore['source'];
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    manager = new Manager({ store: seen, clock, random });
    const sealer = new Sealer(randomBytes(32));
    const ports = { store, manager, clock, random, logger: silentLogger };
    const common = { ...ports, node: 'n', policy: defaultPolicy };
    const volumeManager = new VolumeManager({
      ...common,
      drivers: new PlayedDriver().registry(),
      resolver: parameterResolver(manager.informer(secrets).lister, sealer),
      mountRoot: join(directory, 'mounts'),
      mayMount: false,
    });
    const dataFiles = new DataFiles(dataFilesDirectory(directory), directory);
    const runtimes = [new PlayedRuntime()];
    manager.addRunnable(new Agent({ ...common, runtimes, volumeManager, sealer, dataFiles }));
    await store.create(volumes, {
      ...volumeKey,
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
    });
    await reachState(store, volumes, volumeKey, 'Available', { driver: 'played', handle: '/h' });
    await manager.start();
  });
  afterEach(async () => {
    const stopping = manager.stop(600_000);
    await eventually('the stop', async () => {
      await clock.advance(100);
      return manager.state === 'stopped';
    });
    await stopping;
    await store.close();
    await rm(directory, { recursive: true });
  });

  const held = (attachments: NonNullable<Volume['attachments']>): Promise<unknown> =>
    store.updateStatus(volumes, volumeKey, { attachments });

  it('gets it when that holder releases it, although its cache never had the holder', async () => {
    isHidden = true;
    await held([{ claim: 'default/other-0', node: 'm', state: 'Attached' }]);
    await store.create(instances, {
      ...instanceKey,
      service: 'web',
      ordinal: 0,
      node: 'n',
      template: {
        runtime: 'process',
        command: ['x'],
        volumes: [{ name: 'v', claim: { name: volumeKey.name }, mountPath: '/v' }],
      },
      metadata: { finalizers: [agentFinalizer] },
    });
    await eventually('it to wait', async () =>
      JSON.stringify((await store.get(instances, instanceKey))?.conditions).includes('VolumeInUse'),
    );
    isHidden = false;
    await held([]);
    await eventually('the volume to be attached here', async () => {
      const [own] = (await store.get(volumes, volumeKey))?.attachments ?? [];
      return own?.claim === 'default/web-0' && own.state === 'Attached';
    });
    expect(manager.informer(volumes).lister.get('default/moving')?.attachments).to.have.length(1);
  });
});
