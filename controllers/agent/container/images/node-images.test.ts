import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
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
  beforeEach(async () => {
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
        inspect: (wanted: string) => Promise.resolve(engine.find((image) => image.id === wanted)),
      } as unknown as EngineImages,
      records,
      async instances() {
        await whileListed();
        return [];
      },
      clock: new FakeClock(),
    });

  it('keep an image that is pulled at the same time', async () => {
    const images = nodeWith(async () => {
      engine.push({ id, tags: [name], digests: [], sizeBytes: 1, createdAt: 0 } as never);
      await records.brought(id, name, 'pulled', 1);
    });
    expect(await images.prune(signal)).to.deep.equal([]);
    expect(await records.find(id)).to.include({ origin: 'pulled' });
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
