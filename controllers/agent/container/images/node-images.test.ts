import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { Instance } from '../../../instance/kind.js';
import { FakeClock } from 'kedge/testing';
import type { EngineImage, EngineImages } from '../engine/engine-images.js';
import { ImageRecords } from './image-records.js';
import { NodeImages } from './node-images.js';

describe('the records of images during a prune', () => {
  const { signal } = new AbortController();
  const id = `sha256:${'a'.repeat(64)}`;
  const name = 'app:1';
  let directory: string;
  let records: ImageRecords;
  let engine: EngineImage[];
  let removed: string[];
  let here: Instance[];
  let whileLoading: () => Promise<void>;
  beforeEach(async () => {
    removed = [];
    here = [];
    whileLoading = () => Promise.resolve();
    directory = await mkdtemp(join(tmpdir(), 'kedge-records-'));
    records = new ImageRecords(directory);
    engine = [];
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** A node whose instances are read between the list of the engine and the records. */
  const nodeWith = (whileListed: () => Promise<void>): NodeImages =>
    new NodeImages({
      node: 'n',
      images: {
        list: () => Promise.resolve([...engine]),
        inspect: (wanted: string) =>
          Promise.resolve(engine.find(({ id: own, tags }) => [own, ...tags].includes(wanted))),
        load: async () => {
          await whileLoading();
          const names = ['old:1', 'new:1'];
          engine.push(made('b', ['new:1']));
          return names;
        },
        remove: (reference: string) => Promise.resolve(removed.push(reference) > 0),
      } as unknown as EngineImages,
      records,
      async instances() {
        await whileListed();
        return here;
      },
      clock: new FakeClock(),
    });

  const made = (letter: string, tags: readonly string[]): EngineImage => ({
    ...{ id: `sha256:${letter.repeat(64)}`, tags, digests: [], sizeBytes: 1, createdAt: 0 },
    labels: {},
  });

  it('do not claim an image of another user of the engine that an archive contains again', async () => {
    engine.push(made('a', ['old:1']));
    const images = nodeWith(() => Promise.resolve());
    const tar = Readable.from([]);
    expect(await images.load(tar, () => undefined, signal)).to.deep.equal(['old:1', 'new:1']);
    expect((await records.all()).map(({ names, origin }) => [names, origin])).to.deep.equal([
      [['new:1'], 'loaded'],
    ]);
  });

  it('do not permit the removal of an image with a name of others, nor of one that an instance needs meanwhile', async () => {
    engine.push(made('a', [name, 'theirs:1']), made('b', ['bound:1']), made('c', ['free:1']));
    for (const [letter, own] of [
      ['a', name],
      ['b', 'bound:1'],
      ['c', 'free:1'],
    ] as const)
      await records.brought(`sha256:${letter.repeat(64)}`, own, 'pulled', 1);
    let lists = 0;
    const images = nodeWith(() => {
      lists += 1;
      // After the list of the prune, before the removal.
      if (lists > 1)
        here = [{ namespace: 'n', name: 'i', template: { image: 'bound:1' } } as Instance];
      return Promise.resolve();
    });
    const gone = await images.prune(signal);
    expect(gone.map(({ tags }) => tags)).to.deep.equal([['free:1']]);
    expect(removed).to.deep.equal(['free:1', `sha256:${'c'.repeat(64)}`]);
  });

  it('recognize the own names of images of Docker Hub, which the engine shortens', async () => {
    engine.push(made('a', ['app:1']), made('b', ['team/app:1']), made('c', ['app:2', 'theirs:1']));
    for (const [letter, own] of [
      ['a', 'docker.io/library/app:1'],
      ['b', 'index.docker.io/team/app:1'],
      ['c', 'docker.io/library/app:2'],
    ] as const)
      await records.brought(`sha256:${letter.repeat(64)}`, own, 'pulled', 1);
    const gone = await nodeWith(() => Promise.resolve()).prune(signal);
    expect(gone.map(({ tags }) => tags)).to.deep.equal([['app:1'], ['team/app:1']]);
  });

  it('are written one after the other, for workloads that start from one image at the same time', async () => {
    await records.brought(id, name, 'pulled', 1);
    await Promise.all(Array.from({ length: 20 }, (_, n) => records.used(id, n + 2)));
    expect(await records.find(id)).to.deep.include({ names: [name], usedAt: 21 });
    await Promise.all([records.forget(id, 21), records.brought(id, 'app:2', 'pulled', 30)]);
    expect(await records.find(id)).to.deep.include({ names: ['app:2'], usedAt: 30 });
  });

  it('keep an image that is pulled at the same time', async () => {
    const images = nodeWith(async () => {
      engine.push({ id, tags: [name], digests: [], sizeBytes: 1, createdAt: 0 } as never);
      await records.brought(id, name, 'pulled', 1);
    });
    expect(await images.prune(signal)).to.deep.equal([]);
    expect(await records.find(id)).to.include({ origin: 'pulled' });
  });

  it('are created again for an image that is removed while an archive with it is loaded', async () => {
    const own = made('a', ['old:1']);
    engine.push(own);
    await records.brought(own.id, 'old:1', 'loaded', 1);
    whileLoading = async () => {
      await records.forget(own.id, 1);
    };
    const images = nodeWith(() => Promise.resolve());
    await images.load(Readable.from([]), () => undefined, signal);
    expect(await records.find(own.id)).to.include({ origin: 'loaded' });
  });

  it('keep an image that is used after the list of the prune, and are kept if it is used after the removal', async () => {
    const own = made('a', [name]);
    engine.push(own);
    await records.brought(own.id, name, 'loaded', 1);
    let lists = 0;
    const images = nodeWith(async () => {
      lists += 1;
      if (lists > 1) await records.used(own.id, 2);
    });
    expect(await images.prune(signal)).to.deep.equal([]);
    expect(removed).to.deep.equal([]);
    await records.used(own.id, 3);
    await records.forget(own.id, 2);
    expect(await records.find(own.id)).to.include({ usedAt: 3 });
  });

  it('are dropped for an image that another user of the engine removed', async () => {
    await records.brought(id, name, 'pulled', 1);
    const images = nodeWith(() => Promise.resolve());
    await images.prune(signal, { dryRun: true });
    expect(await records.find(id)).to.include({ origin: 'pulled' });
    await images.prune(signal);
    expect(await records.find(id)).to.equal(undefined);
  });
});
