import { expect } from 'chai';
import { type ApiObject, kindOf } from '../object/index.js';
import type { EmbeddedStore } from './index.js';

interface Disk extends ApiObject {
  readonly tags: readonly string[];
}
const disks = kindOf<Disk>()({
  kind: 'Disk',
  plural: 'disks',
  scope: 'Namespaced',
  statusFields: [],
  indexes: { tag: ({ tags }) => tags },
});

describe('a selection by index', () => {
  it('an index requires a value, and must be one of the kind', () => {
    const wrong = (store: EmbeddedStore): void => {
      // @ts-expect-error a value of nothing
      void store.list(disks, { value: 'red' });
      // @ts-expect-error no value
      void store.list(disks, { index: 'tag' });
      // @ts-expect-error no such index
      void store.list(disks, { index: 'colour', value: 'red' });
      // @ts-expect-error no value
      void store.transact([{ op: 'checkKind', kind: disks, revision: 1, index: 'tag' }]);
      void store.list(disks, { index: 'namespace', value: 'here' });
    };
    expect(wrong).to.be.a('function');
    const taken = { namespace: () => [] };
    const init = { kind: 'X', plural: 'xs', scope: 'Namespaced', statusFields: [] } as const;
    expect(() => kindOf<ApiObject>()({ ...init, indexes: taken })).to.throw(
      TypeError,
      /choose another/,
    );
  });
});
