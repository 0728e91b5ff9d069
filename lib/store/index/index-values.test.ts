import { expect } from 'chai';
import { limits } from '../../base/index.js';
import { type ApiObject, kindOf } from '../../object/index.js';
import { indexValues } from './index-values.js';
import { MemoryEngine, openStore } from '../index.js';

interface Disk extends ApiObject {
  readonly tag?: unknown;
}
/** An index function as a program without types may have it. */
const tagOf = ({ tag }: Disk): readonly string[] =>
  (tag === 'late' ? Promise.reject(new Error(tag)) : tag) as readonly string[];
const declaration = { kind: 'Disk', plural: 'disks', scope: 'Cluster', statusFields: [] } as const;
const disks = kindOf<Disk>()({ ...declaration, indexes: { tag: tagOf } });

describe('values of an object in an index', () => {
  const of = (tag: unknown): readonly string[] =>
    indexValues(tagOf, { name: 'd', tag } as unknown as Disk);

  it('count once each', () => {
    expect(of(['a', 'b', 'a'])).to.deep.equal(['a', 'b']);
  });

  for (const [what, given, message] of [
    ['a promise', 'late', 'gave a promise; it must return synchronously'],
    ['no list', 'red', 'gave a value that is not a list'],
    ['a list of something else', [1], 'gave a value that is not a string'],
    [
      'too many values',
      Array.from({ length: limits.indexValuesMax + 1 }, String),
      `gave ${limits.indexValuesMax + 1} values`,
    ],
  ] as const)
    it(`a write is refused with the reason if the function returns ${what}`, async () => {
      const store = await openStore({ engine: new MemoryEngine() });
      const written = store.create(disks, { name: 'a', tag: given });
      const refused: unknown = await written.catch((error: unknown) => error);
      expect(refused).to.include({ code: 'InvalidArgument', reason: 'NotIndexable' });
      expect(String(refused)).to.contain(`index "tag" ${message}`);
      await store.close();
    });

  it('an error of the function is not quoted: it may contain a part of the object', async () => {
    const thrown = kindOf<Disk>()({
      ...declaration,
      indexes: {
        tag: ({ tag }) => [new Intl.NumberFormat('en', { style: String(tag) as 'unit' }).format(1)],
      },
    });
    const store = await openStore({ engine: new MemoryEngine() });
    const written = store.create(thrown, { name: 'a', tag: 'hunter2' });
    const refused: unknown = await written.catch((error: unknown) => error);
    expect(String(refused)).to.contain('index "tag" threw').and.not.to.contain('hunter2');
    await store.close();
  });
});
