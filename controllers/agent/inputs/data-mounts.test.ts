import { expect } from 'chai';
import { type Lister, silentLogger } from 'kedge';
import type { Configmap } from '../../configmap/kind.js';
import type { Instance } from '../../instance/kind.js';
import type { Secret } from '../../secret/kind.js';
import { Sealer } from '../../secret/index.js';
import { DataFiles } from './data-files.js';
import { DataMounts } from './data-mounts.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const instance: Instance = {
  name: 's-0',
  namespace: 'default',
  service: 's',
  ordinal: 0,
  template: { configmapMounts: [{ name: 'c', mountPath: '/c' }] },
  metadata,
};

/** Data files without a directory. Its `open` and `write` fail while `problem` is set. */
class Place extends DataFiles {
  problem: string | undefined = 'no tmpfs';
  writes = 0;
  /** The content of the last write. */
  last: ReadonlyMap<string, string> = new Map();
  kept: readonly string[] = [];
  remains: 'whole' | 'incomplete' | 'absent' = 'whole';
  readonly removed: string[] = [];
  override open(): Promise<void> {
    if (this.problem === undefined) return Promise.resolve();
    return Promise.reject(Object.assign(new Error(this.problem), { code: this.problem }));
  }
  override write(_: string, __: string, content: ReadonlyMap<string, string>): Promise<void> {
    this.writes += 1;
    this.last = content;
    return this.open();
  }
  override async rewrite(
    _: string,
    __: string,
    content: ReadonlyMap<string, string>,
  ): Promise<'written' | 'absent'> {
    if (this.remains === 'absent') return 'absent';
    await this.write(_, __, content);
    return 'written';
  }
  override remainsOf(): Promise<'whole' | 'incomplete' | 'absent'> {
    return Promise.resolve(this.remains);
  }
  override owners(): Promise<readonly string[]> {
    return Promise.resolve(this.kept);
  }
  override remove(owner: string): Promise<void> {
    this.removed.push(owner);
    return Promise.resolve();
  }
  override sweep(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }
}

describe('data mounts', () => {
  it('a directory that is not ready, or full, is reported, and used once it is ready', async () => {
    const place = new Place('/nowhere', '/nowhere/data');
    const found = { name: 'c', namespace: 'default', data: { k: 'v' }, metadata };
    const configmaps = { get: () => found } as unknown as Lister<Configmap>;
    const secrets = { get: () => undefined } as unknown as Lister<Secret>;
    const sources = { configmaps, secrets, sealer: new Sealer(Buffer.alloc(32)) };
    const mounts = new DataMounts(place, sources, silentLogger);
    await mounts.open(new Set());
    expect(await mounts.write(instance, false)).to.deep.include({ type: 'failed' });
    expect(place.writes).to.equal(0);
    // An instance without mounted secrets or configmaps does not need the directory.
    expect((await mounts.write({ ...instance, template: {} }, false)).type).to.equal('ready');
    place.problem = undefined;
    expect((await mounts.write(instance, false)).type).to.equal('ready');
    expect((await mounts.write(instance, false)).type).to.equal('ready');
    expect(place.writes).to.equal(1);
    place.problem = 'ENOSPC';
    Object.assign(found, { metadata: { ...metadata, resourceVersion: '2' } });
    const full = await mounts.write(instance, false);
    expect(full.type === 'failed' && full.message).to.equal(
      "mounted secrets and configmaps can't be written: the in-memory file system at / is full: ENOSPC",
    );
  });

  describe('of a configmap', () => {
    let place: Place;
    let found: { data: Record<string, string>; metadata: typeof metadata };
    let mounts: DataMounts;
    beforeEach(() => {
      place = new Place('/nowhere', '/nowhere/data');
      place.problem = undefined;
      found = { data: { k: 'v' }, metadata };
      const configmaps = { get: () => found } as unknown as Lister<Configmap>;
      const secrets = { get: () => undefined } as unknown as Lister<Secret>;
      const sources = { configmaps, secrets, sealer: new Sealer(Buffer.alloc(32)) };
      mounts = new DataMounts(place, sources, silentLogger);
    });
    it('are written again if a file was removed, and a removed directory of a workload that runs is reported', async () => {
      await mounts.write(instance, false);
      expect(place.writes).to.equal(1);
      place.remains = 'incomplete';
      expect((await mounts.write(instance, true)).type).to.equal('ready');
      expect(place.writes).to.equal(2);
      place.remains = 'absent';
      for (const fresh of [mounts, mounts]) {
        const outcome = await fresh.write(instance, true);
        expect(outcome.type === 'removed' && outcome.message)
          .to.contain('configmapMounts[0]: the directory /nowhere/u/configmap-0')
          .and.contain('kedge restart instance/s-0');
      }
      expect(place.writes, 'a directory that the workload does not see').to.equal(2);
      expect((await mounts.write(instance, false)).type).to.equal('ready');
      expect(place.writes).to.equal(3);
    });

    const withItems = (items: readonly { key: string; path: string }[]): Instance => ({
      ...instance,
      template: { configmapMounts: [{ name: 'c', mountPath: '/c', items }] },
    });

    it('are read-only, and written again for a new object of the name and for other items', async () => {
      expect(await mounts.write(instance, false)).to.deep.equal({
        type: 'ready',
        mounts: [{ source: '/nowhere/u/configmap-0', target: '/c', readOnly: true }],
      });
      // Another object with the same version.
      found = { data: { k: 'new' }, metadata: { ...metadata, uid: 'recreated' } };
      await mounts.write(instance, false);
      expect([...place.last]).to.deep.equal([['k', 'new']]);
      await mounts.write(withItems([{ key: 'k', path: 'other' }]), false);
      expect([...place.last]).to.deep.equal([['other', 'new']]);
      expect(place.writes).to.equal(3);
    });

    it('are not written if a key is not a file name, unless it has a path', async () => {
      found.data = { '..': 'outside' };
      const refused = await mounts.write(instance, false);
      expect(refused.type === 'missing' && refused.message).to.contain(
        'key ".." of configmap default/c can\'t be used as a file name; set a path for it in items',
      );
      expect(place.writes).to.equal(0);
      expect((await mounts.write(withItems([{ key: '..', path: 'up' }]), false)).type).to.equal(
        'ready',
      );
      expect([...place.last]).to.deep.equal([['up', 'outside']]);
    });

    it('are removed with their instance, also if it was deleted while kedged did not run', async () => {
      place.kept = ['u', 'gone'];
      await mounts.open(new Set(['u']));
      expect(place.removed).to.deep.equal(['gone']);
      await mounts.write(instance, false);
      await mounts.remove(instance);
      expect(place.removed).to.deep.equal(['gone', 'u']);
      await mounts.write(instance, false);
      expect(place.writes, 'written again').to.equal(2);
    });
  });

  it('the message about a missing input of a running workload does not report a delayed start', async () => {
    const place = new Place('/nowhere', '/nowhere/data');
    place.problem = undefined;
    const found: object[] = [];
    const configmaps = { get: () => found[0] } as unknown as Lister<Configmap>;
    const secrets = { get: () => undefined } as unknown as Lister<Secret>;
    const sources = { configmaps, secrets, sealer: new Sealer(Buffer.alloc(32)) };
    const mounts = new DataMounts(place, sources, silentLogger);
    const messageOf = async (
      template: Instance['template'],
      isRunning: boolean,
    ): Promise<string> => {
      const outcome = await mounts.write({ ...instance, template }, isRunning);
      return outcome.type === 'missing' ? outcome.message : '';
    };
    const whole = { configmapMounts: [{ name: 'c', mountPath: '/c' }] };
    const item = {
      configmapMounts: [{ name: 'c', mountPath: '/c', items: [{ key: 'k', path: 'p' }] }],
    };
    expect(await messageOf(whole, false)).to.match(
      /the start of the instance is retried automatically$/,
    );
    expect(await messageOf(whole, true)).to.match(
      /create it, and the files of the instance are updated automatically$/,
    );
    found.push({ name: 'c', namespace: 'default', data: {}, metadata });
    expect(await messageOf(item, false)).to.match(
      /the start of the instance is retried automatically$/,
    );
    expect(await messageOf(item, true)).to.match(
      /add the key, and the files of the instance are updated automatically$/,
    );
  });
});
