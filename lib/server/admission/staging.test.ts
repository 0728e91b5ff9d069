import { expect } from 'chai';
import { type ApiObject, asObject, kindOf } from '../../object/index.js';
import { Staging } from './staging.js';

interface Lamp extends ApiObject {
  readonly tags: readonly string[];
}

describe('staged objects', () => {
  let calls = 0;
  const lamps = kindOf<Lamp>()({
    kind: 'Lamp',
    plural: 'lamps',
    scope: 'Namespaced',
    statusFields: [],
    indexes: {
      tag: ({ tags }: Lamp) => {
        calls += 1;
        if (tags.includes('broken')) throw new TypeError('no such tag');
        return tags;
      },
    },
  });
  const lamp = (name: string, ...tags: readonly string[]): Lamp =>
    asObject<Lamp>({ namespace: 'home', name, tags, metadata: {} });
  const key = (name: string) => ({ namespace: 'home', name });
  const names = (found: readonly ApiObject[]): readonly string[] => found.map(({ name }) => name);
  let staging: Staging;

  beforeEach(() => {
    calls = 0;
    staging = new Staging();
  });

  it('replace the stored ones, under their present values', () => {
    const stored = [lamp('a', 'hot'), lamp('b', 'hot'), lamp('c', 'hot')];
    const hot = (): readonly string[] => names(staging.under(lamps, 'tag', 'hot', stored));
    expect(hot()).to.deep.equal(['a', 'b', 'c']);
    staging.set(lamps, key('a'), lamp('a', 'hot', 'red'));
    staging.set(lamps, key('b'), undefined);
    staging.set(lamps, key('d'), lamp('d', 'hot'));
    expect(hot()).to.deep.equal(['a', 'c', 'd']);
    // From here on the index is known, and each write moves its object.
    staging.set(lamps, key('c'), lamp('c', 'cold'));
    staging.set(lamps, key('b'), lamp('b', 'hot'));
    staging.set(lamps, key('a'), lamp('a', 'red'));
    expect(hot()).to.deep.equal(['b', 'd']);
    expect(names(staging.under(lamps, 'tag', 'cold', []))).to.deep.equal(['c']);
    expect(names(staging.under(lamps, 'namespace', 'home', []))).to.have.members([
      'a',
      'b',
      'c',
      'd',
    ]);
    expect(names(staging.under(lamps, 'namespace', 'work', []))).to.deep.equal([]);
    expect(names(staging.all(lamps, stored))).to.deep.equal(['a', 'b', 'c', 'd']);
  });

  it('are each indexed once, regardless of the number of look-ups of a set', () => {
    for (let n = 0; n < 500; n += 1) {
      staging.set(lamps, key(`l${n}`), lamp(`l${n}`, `t${n}`));
      expect(names(staging.under(lamps, 'tag', `t${n}`, []))).to.deep.equal([`l${n}`]);
    }
    expect(calls).to.equal(500);
  });

  it('have no values where the function of the index throws, so that the store refuses them', () => {
    staging.set(lamps, key('a'), lamp('a', 'broken'));
    expect(names(staging.under(lamps, 'tag', 'hot', []))).to.deep.equal([]);
    staging.set(lamps, key('b'), lamp('b', 'hot', 'broken'));
    staging.set(lamps, key('c'), lamp('c', 'hot'));
    expect(names(staging.under(lamps, 'tag', 'hot', []))).to.deep.equal(['c']);
  });
});
