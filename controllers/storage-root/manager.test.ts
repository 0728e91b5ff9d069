import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  lockDirectory,
  MemoryEngine,
  type ObjectStore,
  openStore,
  silentLogger,
  StatusError,
} from 'kedge';
import { DriverError, type Holder, type Holders } from '@kedge/driver-sdk';
import { type Volume, volumes } from '../volume/kind.js';
import { StorageRootManager } from './manager.js';

async function refusal(work: Promise<unknown>): Promise<DriverError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).to.be.instanceOf(DriverError);
  return error as DriverError;
}

describe('the manager of a storage root', () => {
  let base: string;
  let path: string;
  let store: ObjectStore;
  let manager: StorageRootManager;
  const managers: StorageRootManager[] = [];
  let locks = 0;
  let lockError: Error | undefined;
  const make = (over: ObjectStore = store, holders?: Holders): StorageRootManager => {
    const made = new StorageRootManager({
      store: over,
      node: 'n',
      driver: 'local',
      path,
      lock: (directory) => {
        locks += 1;
        if (lockError) return Promise.reject(lockError);
        return lockDirectory(directory);
      },
      logger: silentLogger,
      ...(holders ? { holders } : {}),
    });
    managers.push(made);
    return made;
  };
  const names = (): Promise<string[]> => manager.use((directory) => readdir(directory));

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'kedge-root-'));
    path = join(base, 'volumes');
    store = await openStore({ engine: new MemoryEngine() });
    lockError = undefined;
    manager = make();
  });
  afterEach(async () => {
    for (const one of managers.splice(0)) await one.close();
    await store.close();
    await rm(base, { recursive: true, force: true });
  });

  it('creates and marks it at the first use', async () => {
    expect(await names()).to.deep.equal(['.kedge']);
    const mark = await readFile(join(path, '.kedge/cluster-id'), 'utf8');
    expect(mark).to.equal(`${store.clusterId}\n`);
    expect(await manager.probe()).to.deep.equal({ type: 'ready' });
  });

  it('refuses a missing root, creates nothing, and continues when it exists again', async () => {
    await names();
    await rename(path, `${path}.away`);
    for (const expected of ['StorageRootMissing', 'StorageRootUnmarked']) {
      let called = false;
      const error = await refusal(manager.use(() => Promise.resolve((called = true))));
      expect(error.kind).to.equal('Unavailable');
      expect(called).to.equal(false);
      expect(await manager.probe()).to.include({ type: 'refused', reason: expected });
      expect(manager.health()).to.have.property('healthy', false);
      // In the second round the root is an empty directory, like the mount point of an unmounted disk.
      if (expected === 'StorageRootMissing') {
        expect(await readdir(base)).to.deep.equal(['volumes.away']);
        await mkdir(path);
      } else expect(await readdir(path)).to.deep.equal([]);
    }
    const restarted = make();
    expect(await restarted.probe()).to.include({ reason: 'StorageRootUnmarked' });
    await rm(path, { recursive: true });
    await rename(`${path}.away`, path);
    expect(await names()).to.deep.equal(['.kedge']);
    expect(manager.health()).to.include({ healthy: true });
  });

  it('refuses the root of another cluster', async () => {
    await names();
    await manager.close();
    const others = await openStore({ engine: new MemoryEngine() });
    const theirs = make(others);
    const { message } = await refusal(theirs.use(() => Promise.resolve()));
    expect(message).to.contain(store.clusterId).and.contain(others.clusterId);
    await others.close();
  });

  it('does not adopt the root of another cluster while something uses its volumes', async () => {
    await names();
    await manager.close();
    const others = await openStore({ engine: new MemoryEngine() });
    const container = { type: 'other', name: 'container db-0', remedy: 'stop it' } as const;
    const own = { type: 'files', pid: process.pid, command: 'kedged' } as const;
    let users: readonly Holder[] = [own, container];
    const theirs = make(others, { holders: () => Promise.resolve(users) });
    const refused = await theirs.adopt(path).catch((error: unknown) => error);
    expect(refused).to.have.property('reason', 'StorageRootInUse');
    expect(String(refused)).to.contain('held by container db-0; stop it, then adopt it again');
    expect(await theirs.probe()).to.include({ reason: 'StorageRootOfOtherCluster' });
    users = [own];
    expect(await theirs.adopt(path)).to.equal(store.clusterId);
    expect(await theirs.probe()).to.deep.equal({ type: 'ready' });
    await theirs.close();
    await others.close();
  });

  it('takes the lock of another directory that was put in its place', async () => {
    await names();
    await rename(path, `${path}.away`);
    await mkdir(join(path, '.kedge'), { recursive: true });
    await writeFile(join(path, '.kedge/cluster-id'), `${store.clusterId}\n`);
    await writeFile(join(path, 'new'), '');
    const before = locks;
    expect(await names()).to.include('new');
    expect(locks).to.equal(before + 1);
    await names();
    expect(locks).to.equal(before + 1);
  });

  it('refuses a root at the next use whose mark is of another cluster by then', async () => {
    await names();
    await writeFile(join(path, '.kedge/cluster-id'), 'theirs\n');
    let called = false;
    await refusal(manager.use(() => Promise.resolve((called = true))));
    expect(called).to.equal(false);
    expect(await manager.probe()).to.include({ reason: 'StorageRootOfOtherCluster' });
  });

  it('refuses each of many concurrent uses if the mark is removed meanwhile', async () => {
    await names();
    await rm(join(path, '.kedge/cluster-id'));
    const uses: Promise<DriverError>[] = [];
    for (let begun = 0; begun < 100; begun += 1) {
      uses.push(refusal(manager.use(() => Promise.resolve())));
      // The next use begins while an earlier one checks the mark.
      await stat(base);
    }
    for (const { message } of await Promise.all(uses)) expect(message).to.contain('cluster-id');
  });

  it('of two on one root the second is refused with the name of the first, until that ends', async () => {
    await names();
    const second = make();
    expect(await second.probe()).to.include({ type: 'refused', reason: 'StorageRootLocked' });
    const { message } = await refusal(second.use(() => Promise.resolve()));
    expect(message).to.contain(path).and.contain(`this process (${process.pid})`);
    await manager.close();
    expect(await second.probe()).to.deep.equal({ type: 'ready' });
  });

  it('does not name another process where the file system refuses a lock', async () => {
    lockError = new StatusError({
      code: 'Unavailable',
      reason: 'LockUnavailable',
      message: 'the lock file is not created: no space',
    });
    expect(await manager.probe()).to.include({ type: 'refused', reason: 'StorageRootUnreadable' });
    await mkdir(path, { recursive: true });
    const adoption: unknown = await manager.adopt(path).catch((error: unknown) => error);
    expect(adoption).to.equal(lockError);
    lockError = undefined;
    expect(await manager.probe()).to.deep.equal({ type: 'ready' });
  });

  it('adopts an unmarked directory that contains the data which the store places there', async () => {
    const volume = await store.create<Volume, 'Namespaced', unknown>(volumes, {
      name: 'data',
      namespace: 'default',
      size: '1Mi',
      accessMode: 'ReadWriteOnce',
      storageClassName: 'local',
    } as never);
    const { uid } = volume.metadata;
    const status = { driver: 'local', handle: `/old/${uid}`, status: 'Provisioning' } as const;
    await store.updateStatus(volumes, volume, status);
    await mkdir(path);
    expect(await manager.probe()).to.include({ reason: 'StorageRootUnmarked' });
    expect(await readdir(path)).to.deep.equal([]);
    await mkdir(join(path, uid));
    await writeFile(join(path, uid, 'x'), 'kept');
    expect(await names()).to.have.members(['.kedge', uid]);
    // Adopted only once: later, a directory without a mark counts as a mount point, regardless of its content.
    await rm(join(path, '.kedge'), { recursive: true });
    expect(await make().probe()).to.include({ reason: 'StorageRootUnmarked' });
  });
});
