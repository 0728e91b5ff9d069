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
  override open(): Promise<void> {
    return this.problem === undefined ? Promise.resolve() : Promise.reject(new Error(this.problem));
  }
  override write(): Promise<void> {
    this.writes += 1;
    return this.open();
  }
  override has(): Promise<boolean> {
    return Promise.resolve(true);
  }
  override owners(): Promise<readonly string[]> {
    return Promise.resolve([]);
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
});
