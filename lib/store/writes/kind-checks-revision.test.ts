import { expect } from 'chai';
import { hasCode } from '../../base/index.js';
import { type ApiObject, kindOf } from '../../object/index.js';
import { MemoryEngine, openStore } from '../index.js';

const shared = { scope: 'Namespaced', statusFields: [], rarelyWritten: true } as const;
const disks = kindOf<ApiObject>()({ kind: 'Disk', plural: 'disks', ...shared });
const tapes = kindOf<ApiObject>()({ kind: 'Tape', plural: 'tapes', ...shared });

describe('checks of a kind', () => {
  it('of a future revision are refused, including the revision of their own transaction', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    await store.create(tapes, { namespace: 'here', name: 'a' });
    const { revision } = await store.list(disks);
    const check = (since: number) =>
      store
        .transact([
          { op: 'checkKind', kind: disks, revision: since },
          { op: 'create', kind: tapes, object: { namespace: 'here', name: `b${since}` } },
        ])
        .then(
          () => 'accepted',
          (error: unknown) => hasCode(error, 'InvalidArgument') && error.code,
        );
    expect(await check(revision + 1)).to.equal('InvalidArgument');
    expect(await check(revision)).to.equal('accepted');
  });
});
