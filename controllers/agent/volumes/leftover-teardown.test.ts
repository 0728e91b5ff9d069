import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { Manager, MemoryEngine, type ObjectStore, openStore, seededRandom } from 'kedge';
import { eventually, FakeClock, RecordingLogger, settle } from 'kedge/testing';
import { KeyedQueue, type MountEntry, type NodeHost, thisNode } from '@kedge/driver-sdk';
import { secrets } from '../../secret/kind.js';
import { type Volume, volumes } from '../../volume/kind.js';
import { defaultPolicy } from '../../policy/policy.js';
import { parameterResolver, Sealer } from '../../secret/index.js';
import { PlayedDriver } from '../../testing/played-driver.js';
import { VolumeManager } from './volume-manager.js';

const key = { namespace: 'default', name: 'v' };
const claim = 'default/s-0';
const mountAt = (target: string): MountEntry => ({
  target,
  device: '7:1',
  root: '/',
  readOnly: false,
  fsType: 'ext4',
  source: '/dev/loop1',
});

describe('a stop with mounts of a force-detached volume', () => {
  let clock: FakeClock;
  let store: ObjectStore;
  let manager: Manager;
  let volumeManager: VolumeManager;
  let logger: RecordingLogger;
  let mounts: readonly MountEntry[];
  /** Unmounted paths. */
  let unmounted: string[];
  /** Whether the device of the volume no longer answers. */
  let hangs: boolean;

  beforeEach(async () => {
    clock = new FakeClock();
    logger = new RecordingLogger();
    store = await openStore({ engine: new MemoryEngine(), clock });
    manager = new Manager({ store, clock, random: seededRandom(1) });
    const storage = { storageClassName: 'c', size: '1Gi', accessMode: 'ReadWriteOnce' } as const;
    const { metadata } = await store.create(volumes, { ...key, ...storage });
    const { uid } = metadata;
    const provisioned = { driver: 'played', handle: 'h', sizeBytes: String(2 ** 30) };
    await store.updateStatus(volumes, key, { status: 'Provisioning' }, { uid });
    await store.updateStatus(volumes, key, { status: 'Available', ...provisioned }, { uid });
    hangs = false;
    unmounted = [];
    mounts = [mountAt('/mounts/binds/taken/default+t-0/data')];
    const host: NodeHost = {
      ...thisNode,
      turns: new KeyedQueue(),
      mounts: () => Promise.resolve(mounts),
      files: {
        ...thisNode.files,
        kindAt: () => Promise.resolve('directory'),
        realPath: (path) => Promise.resolve(path),
        removeFolder: () => Promise.resolve(),
      },
      run: (command, args) => {
        const target = args.at(-1) ?? '';
        if (hangs) return new Promise(() => undefined);
        unmounted.push(target);
        mounts = mounts.filter((mount) => mount.target !== target);
        return Promise.resolve({ exitCode: 0, stdout: command, stderr: '' });
      },
    };
    volumeManager = new VolumeManager({
      ...{ store, manager, clock, random: seededRandom(1), logger, host },
      ...{ node: 'n', policy: defaultPolicy, mountRoot: '/mounts', mayMount: true },
      drivers: new PlayedDriver().registry(),
      resolver: parameterResolver(manager.informer(secrets).lister, new Sealer(randomBytes(32))),
    });
    await manager.start();
    await volumeManager.adopt(() => Promise.resolve(true));
    expect(volumeManager.holdsHere('default/t-0')).to.equal(true);
    const attachedAt = new Date(clock.now()).toISOString();
    const attachment = { claim, node: 'n', state: 'Attached', devicePath: '', attachedAt } as const;
    await store.updateStatus(volumes, key, { status: 'Bound', attachments: [attachment] }, { uid });
    await settle();
  });
  afterEach(async () => {
    const stopping = manager.stop(1_000);
    await clock.advance(10_000);
    await stopping;
    await store.close();
  });

  const attachments = async (): Promise<Volume['attachments']> =>
    (await store.get(volumes, key))?.attachments;
  const remaining = (): readonly unknown[] =>
    logger.lines
      .filter(({ message }) => message === 'mounts of a force-detached volume remain')
      .map(({ fields }) => fields);

  it('removes them, and releases the attached volumes', async () => {
    await volumeManager.tearDown(20_000, new Set());
    expect(unmounted).to.deep.equal(['/mounts/binds/taken/default+t-0/data']);
    expect([await attachments(), remaining()]).to.deep.equal([[], []]);
  });

  it('releases the attached volumes also if an unmount hangs, and ends with its budget', async () => {
    hangs = true;
    let isOver = false;
    const over = volumeManager.tearDown(20_000, new Set()).then(() => (isOver = true));
    await eventually('the release', async () => (await attachments())?.length === 0);
    expect(isOver).to.equal(false);
    await clock.advance(19_000);
    expect(isOver).to.equal(false);
    await clock.advance(1_000);
    expect(isOver).to.equal(true);
    await over;
    const error = 'the shutdown budget has ended';
    expect(remaining()).to.deep.equal([{ claims: ['default/t-0'], error }]);
  });

  it('leaves them if its budget was spent before', async () => {
    await volumeManager.tearDown(0, new Set());
    expect(unmounted).to.deep.equal([]);
    expect(remaining()).to.have.length(1);
  });
});
