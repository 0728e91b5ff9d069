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

/** Data files without a directory. Their calls fail while `problem` is set. */
class Place extends DataFiles {
  problem: string | undefined = 'no tmpfs';
  writes = 0;
  /** The content of the last write. */
  last: ReadonlyMap<string, string> = new Map();
  kept: readonly string[] = [];
  readonly removed: string[] = [];
  override open(): Promise<void> {
    return this.problem === undefined ? Promise.resolve() : Promise.reject(new Error(this.problem));
  }
  override write(_: string, __: string, content: ReadonlyMap<string, string>): Promise<void> {
    this.writes += 1;
    this.last = content;
    return this.open();
  }
  override has(): Promise<boolean> {
    return Promise.resolve(true);
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
    expect(await mounts.write(instance)).to.deep.include({ type: 'failed' });
    expect(place.writes).to.equal(0);
    // An instance without mounted secrets or configmaps does not need the directory.
    expect((await mounts.write({ ...instance, template: {} })).type).to.equal('ready');
    place.problem = undefined;
    expect((await mounts.write(instance)).type).to.equal('ready');
    expect((await mounts.write(instance)).type).to.equal('ready');
    expect(place.writes).to.equal(1);
    place.problem = 'ENOSPC';
    Object.assign(found, { metadata: { ...metadata, resourceVersion: '2' } });
    const full = await mounts.write(instance);
    expect(full.type === 'failed' && full.message).to.contain('ENOSPC');
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
    const withItems = (items: readonly { key: string; path: string }[]): Instance => ({
      ...instance,
      template: { configmapMounts: [{ name: 'c', mountPath: '/c', items }] },
    });

    it('are read-only, and written again for a new object of the name and for other items', async () => {
      expect(await mounts.write(instance)).to.deep.equal({
        type: 'ready',
        mounts: [{ source: '/nowhere/u/configmap-0', target: '/c', readOnly: true }],
      });
      // Another object with the same version.
      found = { data: { k: 'new' }, metadata: { ...metadata, uid: 'recreated' } };
      await mounts.write(instance);
      expect([...place.last]).to.deep.equal([['k', 'new']]);
      await mounts.write(withItems([{ key: 'k', path: 'other' }]));
      expect([...place.last]).to.deep.equal([['other', 'new']]);
      expect(place.writes).to.equal(3);
    });

    it('are not written where a key is no file name, unless it has a path', async () => {
      found.data = { '..': 'outside' };
      const refused = await mounts.write(instance);
      expect(refused.type === 'missing' && refused.message).to.contain(
        'key ".." of configmap default/c can\'t be used as a file name; set a path for it in items',
      );
      expect(place.writes).to.equal(0);
      expect((await mounts.write(withItems([{ key: '..', path: 'up' }]))).type).to.equal('ready');
      expect([...place.last]).to.deep.equal([['up', 'outside']]);
    });

    it('go with their instance, also with one that was deleted while kedged did not run', async () => {
      place.kept = ['u', 'gone'];
      await mounts.open(new Set(['u']));
      expect(place.removed).to.deep.equal(['gone']);
      await mounts.write(instance);
      await mounts.remove(instance);
      expect(place.removed).to.deep.equal(['gone', 'u']);
      await mounts.write(instance);
      expect(place.writes, 'written again').to.equal(2);
    });
  });
});
