import { expect } from 'chai';
import { keyString, type Lister } from 'kedge';
import type { Instance } from '../../instance/kind.js';
import { ExpectedPlacements } from './expected-placements.js';

const ports = [{ name: 'http', port: 80, hostPort: 8080 }];
type Metadata = Instance['metadata'];

function instance(uid: string, more: Partial<Instance> = {}, at: Partial<Metadata> = {}): Instance {
  const dates = { createdAt: '', updatedAt: '' };
  const metadata = { uid, resourceVersion: '1', generation: 1, ...dates, ...at };
  const own = { namespace: 'default', name: 'i', service: 's', ordinal: 0, template: { ports } };
  return { ...own, ...more, metadata };
}

/** A cache with these instances. */
function cache(...items: readonly Instance[]): Lister<Instance> {
  const get = (key: string) => items.find((each) => keyString(each) === key);
  return { get, list: () => items, byIndex: () => [] } as unknown as Lister<Instance>;
}

const waiting = instance('u');

describe('the placement that is expected of an instance', () => {
  let expected: ExpectedPlacements;
  beforeEach(() => {
    expected = new ExpectedPlacements();
  });
  const on = (node: string) => expected.on(node).map(({ metadata }) => metadata.uid);

  it('counts on one node', () => {
    expected.expect(waiting, 'n1', 0, cache(waiting));
    expect(on('n1')).to.deep.equal(['u']);
    expected.expect(waiting, 'n2', 0, cache(waiting));
    expect([on('n1'), on('n2')]).to.deep.equal([[], ['u']]);
  });

  it('is not recorded for an instance without requirements on a node', () => {
    expected.expect(instance('u', { template: {} }), 'n1', 0, cache());
    expect(on('n1')).to.deep.equal([]);
  });

  const ends: Readonly<Record<string, readonly Instance[]>> = {
    'its nomination is in the cache': [instance('u', { nominatedNode: 'n1' })],
    'it is placed': [instance('u', { node: 'n2' })],
    'it is being deleted': [instance('u', {}, { deletionRequestedAt: '2026-01-01T00:00:00Z' })],
    'it is deleted': [],
    'another instance has its name': [instance('v')],
  };
  for (const [title, items] of Object.entries(ends))
    it(`ends when ${title}`, () => {
      expected.expect(waiting, 'n1', 0, cache(waiting));
      expected.forgetEnded(cache(waiting), 1);
      expect(on('n1')).to.deep.equal(['u']);
      expected.forgetEnded(cache(...items), 2);
      expect(on('n1')).to.deep.equal([]);
    });

  it('continues while the cache has an earlier nomination', () => {
    const earlier = instance('u', { nominatedNode: 'n2' });
    expected.expect(earlier, 'n1', 0, cache(earlier));
    expected.forgetEnded(cache(earlier), 1);
    expect(on('n1')).to.deep.equal(['u']);
  });

  it('ends after a minute without a nomination, and at once when a cached instance is deleted', () => {
    for (const seen of [cache(), cache(waiting)]) {
      expected.expect(waiting, 'n1', 0, cache());
      expected.forgetEnded(seen, 60_000);
      expect(on('n1')).to.deep.equal(['u']);
      expected.forgetEnded(seen.list().length > 0 ? cache() : seen, 60_001);
      expect(on('n1')).to.deep.equal([]);
    }
    expected.expect(waiting, 'n1', 0, cache());
    expected.forgetEnded(cache(waiting), 1);
    expected.forgetEnded(cache(), 2);
    expect(on('n1')).to.deep.equal([]);
  });
});
