import { randomBytes } from 'node:crypto';
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
import { eventually, FakeClock } from 'kedge/testing';
import { type Instance, instances } from '../../instance/kind.js';
import { secrets } from '../../secret/kind.js';
import type { VolumeMount } from '../../service/kind.js';
import { volumes } from '../../volume/kind.js';
import { defaultPolicy } from '../../policy/policy.js';
import { parameterResolver, Sealer } from '../../secret/index.js';
import { PlayedDriver } from '../../testing/played-driver.js';
import { VolumeManager } from './volume-manager.js';

const key = { namespace: 'default', name: 'v' };
const mount: VolumeMount = { name: 'data', mountPath: '/data', claim: { name: 'v' } };

/** Returns the store as seen by a process whose watches deliver nothing: its caches keep their initial content. */
function withoutWatches(store: ObjectStore): ObjectStore {
  const source = (kind: Parameters<ObjectStore['source']>[0]): ListWatch<never> => ({
    list: async () => (await store.source(kind).list(new AbortController().signal)) as never,
    watch: (_revision, _sink, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve());
      }),
  });
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'source') return source;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

describe('volumes of a node whose cache is behind the store', () => {
  let clock: FakeClock;
  let store: ObjectStore;
  let manager: Manager;
  let driver: PlayedDriver;
  let volumeManager: VolumeManager;
  let instance: Instance;

  beforeEach(async () => {
    clock = new FakeClock();
    store = await openStore({ engine: new MemoryEngine(), clock });
    const provisioned = { driver: 'played', handle: 'h', sizeBytes: String(2 ** 30) };
    const volume = { ...key, storageClassName: 'c', accessMode: 'ReadWriteOnce' as const };
    const { metadata } = await store.create(volumes, { ...volume, size: '1Gi' });
    const { uid } = metadata;
    await store.updateStatus(volumes, key, { status: 'Provisioning' }, { uid });
    await store.updateStatus(volumes, key, { status: 'Available', ...provisioned }, { uid });
    const template = { runtime: 'process' as const, volumes: [mount] };
    const owner = { service: 's', ordinal: 0, node: 'n', template };
    instance = await store.create(instances, { namespace: 'default', name: 's-0', ...owner });
    const behind = withoutWatches(store);
    manager = new Manager({ store: behind, clock, random: seededRandom(1) });
    driver = new PlayedDriver();
    volumeManager = new VolumeManager({
      ...{ store: behind, manager, clock, random: seededRandom(1), logger: silentLogger },
      ...{ node: 'n', policy: defaultPolicy, mountRoot: '/mounts', mayMount: false },
      drivers: driver.registry(),
      resolver: parameterResolver(manager.informer(secrets).lister, new Sealer(randomBytes(32))),
    });
    await manager.start();
    const outcome = await eventually('the mount', async () => {
      const last = await volumeManager.ensure(instance, mount);
      return last.type === 'mounted' ? last : undefined;
    });
    expect(outcome.type).to.equal('mounted');
    expect(manager.informer(volumes).lister.get('default/v')?.attachments).to.equal(undefined);
  });
  afterEach(async () => {
    const stopping = manager.stop(1_000);
    await clock.advance(10_000);
    await stopping;
    await store.close();
  });

  const attachments = async () => (await store.get(volumes, key))?.attachments;

  it('are released with the claim that they were reserved for', async () => {
    expect(volumeManager.holdsHere('default/s-0')).to.equal(true);
    await volumeManager.releaseAll('default/s-0');
    expect(await attachments()).to.deep.equal([]);
    expect(volumeManager.holdsHere('default/s-0')).to.equal(false);
  });

  it('are torn down at the stop', async () => {
    await volumeManager.tearDown(10_000, new Set());
    expect(await attachments()).to.deep.equal([]);
  });

  it('stay with a claim that is still busy', async () => {
    await volumeManager.tearDown(10_000, new Set(['default/s-0']));
    expect(await attachments()).to.have.length(1);
  });
});
