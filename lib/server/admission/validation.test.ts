import { expect } from 'chai';
import { type ApiObject, kindOf } from '../../object/index.js';
import { MemoryEngine, openStore } from '../../store/index.js';
import { accessControl, type Identity } from '../auth/index.js';
import { Validation } from './validation.js';

interface Lamp extends ApiObject {
  readonly tags: readonly string[];
}
const byTag = ({ tags }: Lamp): readonly string[] => tags;
const lamps = kindOf<Lamp>()({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
  indexes: { tag: byTag, 'tag red': byTag },
});
const identity: Identity = {
  subject: 'ann',
  kind: 'user',
  policies: [],
  tokenId: '',
  expiresAt: undefined,
};

describe('a validation', () => {
  it('checks each list and each object that a rule read, regardless of their names', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    await store.create(lamps, { name: 'by tag red hot', tags: ['hot'] });
    const validation = new Validation({ store, authorizer: accessControl(() => true) }, identity);
    const found = await validation.lookupBy(lamps, 'tag red', 'hot');
    expect(await validation.lookupBy(lamps, 'tag', 'red hot')).to.deep.equal([]);
    await validation.lookup(lamps, { name: 'by tag red hot' });
    expect(found.map(({ name }) => name)).to.deep.equal(['by tag red hot']);
    const checks = validation
      .checks()
      .map((check) => (check.op === 'checkKind' ? [check.index, check.value] : check.op));
    expect(checks).to.deep.equal([['tag red', 'hot'], ['tag', 'red hot'], 'check']);
  });
});
