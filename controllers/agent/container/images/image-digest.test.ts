import { expect } from 'chai';
import type { EngineImage } from '../engine/engine-images.js';
import { digestOf } from './image-digest.js';

describe('the digest of an image', () => {
  const id = `sha256:${'a'.repeat(64)}`;
  const digests = ['mirror/app', 'app'].map((name) => `${name}@sha256:${'b'.repeat(64)}`);
  const image = { id, digests } as unknown as EngineImage;

  it('is that of the requested repository, also if its name has parts that the engine omits', () => {
    for (const name of ['app:1', 'docker.io/library/app:1', 'index.docker.io/library/app:1'])
      expect(digestOf(image, name), name).to.equal(digests[1]);
    expect(digestOf(image, 'mirror/app:1')).to.equal(digests[0]);
  });

  it('is one of another repository without it, and the id without any', () => {
    expect(digestOf(image, 'other/app:1')).to.equal(digests[0]);
    expect(digestOf({ ...image, digests: [] }, 'app:1')).to.equal(id);
  });
});
