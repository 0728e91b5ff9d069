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
} from 'kedge';
import { eventually, FakeClock, reachState, settle } from 'kedge/testing';
import { agentFinalizer } from '../../instance/index.js';
import { instances } from '../../instance/kind.js';
import { secrets } from '../../secret/kind.js';
import { volumes } from '../../volume/kind.js';
import { parameterResolver, Sealer } from '../../secret/index.js';
import { defaultPolicy } from '../../policy/policy.js';
import { PlayedDriver } from '../../testing/played-driver.js';
import { PlayedRuntime } from '../../testing/played-runtime.js';
import { Agent } from '../agent.js';
import { DataFiles, dataFilesDirectory } from '../inputs/data-files.js';
import { VolumeManager } from '../volumes/volume-manager.js';

const volumeKey = { namespace: 'default', name: 'shared' };

describe('instances that share a volume', function () {
  this.timeout(180_000);
  let directory: string;
  let store: ObjectStore;
  let manager: Manager;
  let clock: FakeClock;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-shared-'));
    clock = new FakeClock();
    const random = seededRandom(1);
    store = await openStore({ engine: new MemoryEngine(), clock });
    manager = new Manager({ store, clock, random });
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
    await manager.start();
    await store.create(volumes, {
      ...volumeKey,
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadOnlyMany',
    });
    await reachState(store, volumes, volumeKey, 'Available', { driver: 'played', handle: '/h' });
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

  const attachments = async () => (await store.get(volumes, volumeKey))?.attachments ?? [];

  /**
   * Creates and deletes `count` instances. Returns the reads of instances during each, which are at least one per
   * reconcile.
   */
  async function reconciles(count: number): Promise<readonly [number, number]> {
    let reads = 0;
    const original = store.get.bind(store);
    const counting: typeof store.get = (kind, ...rest) => {
      if ((kind as { readonly kind: string }).kind === instances.kind) reads += 1;
      return original(kind, ...rest);
    };
    Object.assign(store, { get: counting });
    const keys = Array.from({ length: count }, (_, n) => ({
      namespace: 'default',
      name: `i-${n}`,
    }));
    for (const [n, key] of keys.entries()) {
      await store.create(instances, {
        ...key,
        service: 's',
        ordinal: 0,
        node: 'n',
        template: {
          runtime: 'process',
          command: ['x'],
          volumes: [{ name: 'v', claim: { name: volumeKey.name }, mountPath: '/v' }],
        },
        metadata: { finalizers: [agentFinalizer] },
      });
      await eventually('it is attached', async () => {
        const all = await attachments();
        return all.length > n && all.every(({ state }) => state === 'Attached');
      });
      await settle();
    }
    const started = reads;
    for (const [n, key] of keys.entries()) {
      await store.deleteByName(instances, key);
      await eventually('it is detached', async () => {
        await clock.advance(100);
        return (await attachments()).length < count - n;
      });
      await settle();
    }
    Object.assign(store, { get: original });
    return [started, reads - started];
  }

  it('are reconciled in proportion to their number as they attach and detach', async () => {
    for (const count of [8, 64]) {
      const [come, gone] = await reconciles(count);
      expect(come / count, `${count} come`).to.be.lessThan(8);
      expect(gone / count, `${count} go`).to.be.lessThan(8);
    }
  });
});
