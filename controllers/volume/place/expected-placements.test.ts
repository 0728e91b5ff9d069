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
const other = instance('other', { name: 'j' });

describe('the placement that is expected of an instance', () => {
  let expected: ExpectedPlacements;
  beforeEach(() => {
    expected = new ExpectedPlacements();
  });
  const on = (node: string, except = other) =>
    expected.on(node, except).map(({ metadata }) => metadata.uid);

  it('counts for others, not for itself, and on one node', () => {
    expected.expect(waiting, 'n1', 0, cache(waiting));
    expect([on('n1'), on('n1', waiting)]).to.deep.equal([['u'], []]);
    expected.expect(waiting, 'n2', 0, cache(waiting));
    expect([on('n1'), on('n2')]).to.deep.equal([[], ['u']]);
  });

  it('is not remembered without requirements on a node', () => {
    expected.expect(instance('u', { template: {} }), 'n1', 0, cache());
    expect(on('n1')).to.deep.equal([]);
  });

  const ends: Readonly<Record<string, readonly Instance[]>> = {
    'it is placed': [instance('u', { node: 'n1' })],
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

  it('waits a minute for an instance that is not cached yet, and ends at once when it is deleted later', () => {
    for (const seen of [cache(), cache(waiting)]) {
      expected.expect(waiting, 'n1', 0, cache());
      expected.forgetEnded(seen, 60_000);
      expect(on('n1')).to.deep.equal(['u']);
      expected.forgetEnded(cache(), seen.list().length > 0 ? 2 : 60_001);
      expect(on('n1')).to.deep.equal([]);
    }
  });
});
