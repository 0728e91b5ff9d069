import { expect } from 'chai';
import type { Instance } from '../../instance/kind.js';
import { pinnedImage } from './pinned-image.js';

const content = `sha256:${'a'.repeat(64)}`;

describe('the image that an instance is pinned to', () => {
  const instanceOn = (node: string, image: string, imageDigest?: string): Instance =>
    ({
      namespace: 'default',
      name: `${node}-0`,
      service: 'site',
      ordinal: 0,
      node,
      template: { image },
      ...(imageDigest && { imageDigest }),
      metadata: {},
    }) as unknown as Instance;
  const pinOf = (image: string, ...others: readonly (readonly [string, string])[]) =>
    pinnedImage(
      { byIndex: () => others.map(([node, digest]) => instanceOn(node, image, digest)) },
      instanceOn('here', image),
    );

  it('is that of another replica, on any node, in the repository of its image', () => {
    for (const [image, repository] of [
      ['registry.example.com/team/site:1', 'registry.example.com/team/site'],
      ['redis', 'docker.io/library/redis'],
      ['library/redis:7', 'redis'],
    ] as const) {
      const digest = `${repository}@${content}`;
      expect(pinOf(image, ['there', digest]), image).to.equal(digest);
    }
  });

  it('is no other image that the agent of another node reports', () => {
    const image = 'registry.example.com/team/site:1';
    const foreign = [
      `evil.example.com/team/site@${content}`,
      `registry.example.com/team/site-debug@${content}`,
      `registry.example.com/team/site/x@${content}`,
      'registry.example.com/team/site:other',
      content,
      'not an image',
    ];
    for (const digest of foreign)
      expect(pinOf(image, ['there', digest]), digest).to.equal(undefined);
    const right = `registry.example.com/team/site@${content}`;
    const reports = foreign.map((digest) => ['there', digest] as const);
    expect(pinOf(image, ...reports, ['there', right])).to.equal(right);
  });

  it('is the id of an image without a registry if a replica of the same node ran it', () => {
    expect(pinOf('site:1', ['here', content])).to.equal(content);
  });
});
