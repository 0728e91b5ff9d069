import { expect } from 'chai';
import { hasCode } from '../../base/index.js';
import { type ApiObject, kindOf, namespaceIndex } from '../../object/index.js';
import { FakeClock } from '../../testing/index.js';
import { type EmbeddedStore, type KindCheck, MemoryEngine, openStore } from '../index.js';

interface Disk extends ApiObject {
  readonly tag: string;
}
const disks = kindOf<Disk>()({
  kind: 'Disk',
  plural: 'disks',
  scope: 'Namespaced',
  statusFields: [],
  rarelyWritten: true,
  indexes: {
    tag: ({ tag }) => [tag],
    picky: ({ tag }) => {
      if (tag === 'odd') throw new Error('no value for it');
      return [tag];
    },
  },
});
/** The kind before it had indexes. */
const plainDisks = kindOf<Disk>()({
  kind: 'Disk',
  plural: 'disks',
  scope: 'Namespaced',
  statusFields: [],
});
const noises = kindOf<ApiObject>()({
  kind: 'Noise',
  plural: 'noises',
  scope: 'Cluster',
  statusFields: [],
});

/** A disk that refuses writes while `broken`. */
class BreakingEngine extends MemoryEngine {
  broken = false;

  override append(...records: Parameters<MemoryEngine['append']>): Promise<void> {
    if (this.broken) return Promise.reject(new Error('ENOSPC: no space left on device'));
    return super.append(...records);
  }
}

/** A store whose disk fails during the writes that `lose` begins, and works again afterwards. */
async function losing(
  lose: (store: EmbeddedStore) => readonly Promise<unknown>[],
): Promise<EmbeddedStore> {
  const engine = new BreakingEngine();
  const clock = new FakeClock();
  const store = await openStore({ engine, clock });
  await store.create(noises, { name: 'first' });
  engine.broken = true;
  const outcomes = await Promise.allSettled(lose(store));
  expect(outcomes.every(({ status }) => status === 'rejected')).to.equal(true);
  engine.broken = false;
  await clock.advance(60_000);
  expect(store.health().state).to.equal('serving');
  expect(store.revision).to.equal(1);
  return store;
}

async function isRefused(store: EmbeddedStore, check: KindCheck): Promise<boolean> {
  try {
    await store.transact([check]);
    return false;
  } catch (error) {
    expect(hasCode(error, 'Aborted') && error.reason).to.equal('Conflict');
    return true;
  }
}

async function checksOf(store: EmbeddedStore): Promise<readonly KindCheck[]> {
  const { revision } = await store.list(disks);
  const check = { op: 'checkKind', kind: disks, revision } as const;
  return [
    check,
    { ...check, index: namespaceIndex, value: 'here' },
    { ...check, index: 'tag', value: 'red' },
    { ...check, index: 'picky', value: 'red' },
  ];
}

describe('checks of a kind after writes that failed', () => {
  const disk = (name: string, tag: string): Disk & { readonly namespace: string } =>
    ({ namespace: 'here', name, tag }) as Disk & { readonly namespace: string };
  const noise = (store: EmbeddedStore): readonly Promise<unknown>[] =>
    ['a', 'b', 'c'].map((name) => store.create(noises, { name }));

  const losses: Readonly<Record<string, (store: EmbeddedStore) => readonly Promise<unknown>[]>> = {
    'an index was learned while they were pending': (store) => {
      const writes = noise(store);
      void store.list(disks, { index: 'tag', value: 'red' });
      return writes;
    },
    'they were of the kind': (store) => [store.create(disks, disk('a', 'red')), ...noise(store)],
    'an index function threw for one of them': (store) => [
      store.create(plainDisks, disk('a', 'odd')),
      store.overwrite(disks, disk('a', 'odd')),
      ...noise(store),
    ],
  };
  for (const [what, lose] of Object.entries(losses))
    it(`pass for a list afterwards, and detect later changes: ${what}`, async () => {
      const store = await losing(lose);
      const checks = await checksOf(store);
      for (const check of checks)
        expect(await isRefused(store, check), check.index).to.equal(false);
      await store.create(disks, disk('b', 'red'));
      for (const check of checks) expect(await isRefused(store, check), check.index).to.equal(true);
      await store.close();
    });
});
