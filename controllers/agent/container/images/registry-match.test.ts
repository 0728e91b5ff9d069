import { expect } from 'chai';
import { parseImage } from '../../../service/image/image-reference.js';
import { mostSpecific } from './registry-match.js';

function chosen(image: string, ...registries: readonly string[]): string | undefined {
  const reference = parseImage(image);
  if (!reference) throw new Error(image);
  return mostSpecific(registries, (registry) => registry, reference);
}

describe('the registry of an image', () => {
  it('a host wins over a wildcard, then a longer path over a shorter one, then a longer wildcard', () => {
    const all = ['*.example.com', 'r.example.com', 'r.example.com/a', 'r.example.com/a/b'];
    expect(chosen('r.example.com/a/b/app', ...all)).to.equal('r.example.com/a/b');
    expect(chosen('r.example.com/a/app', ...all)).to.equal('r.example.com/a');
    expect(chosen('r.example.com/ab/app', ...all)).to.equal('r.example.com');
    expect(chosen('s.example.com/app', ...all)).to.equal('*.example.com');
    expect(chosen('x.r.example.com/app', '*.example.com', '*.r.example.com')).to.equal(
      '*.r.example.com',
    );
    expect(chosen('r.example.com/a/app', '*.example.com/a', 'r.example.com')).to.equal(
      'r.example.com',
    );
    expect(chosen('x.r.example.com/a/app', '*.example.com/a', '*.r.example.com')).to.equal(
      '*.example.com/a',
    );
  });

  it('another host, another port, a part of a name and the domain itself do not match', () => {
    expect(chosen('r.example.com/app', 'example.com')).to.equal(undefined);
    expect(chosen('r.example.com:5000/app', 'r.example.com')).to.equal(undefined);
    expect(chosen('example.com/app', '*.example.com')).to.equal(undefined);
    expect(chosen('evilexample.com/app', '*.example.com')).to.equal(undefined);
    expect(chosen('r.example.com/team-b/app', 'r.example.com/team')).to.equal(undefined);
  });

  it('Docker Hub is matched by all of its names', () => {
    for (const name of ['docker.io', 'https://index.docker.io/v1/', 'registry-1.docker.io'])
      expect(chosen('redis:7', name), name).to.equal(name);
    expect(chosen('redis', 'docker.io', 'docker.io/library')).to.equal('docker.io/library');
    expect(chosen('team/app', 'docker.io', 'docker.io/library')).to.equal('docker.io');
  });
});
