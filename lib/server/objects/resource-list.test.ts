import { expect } from 'chai';
import { systemClock } from '../../base/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import type { JsonObject } from '../../rpc/index.js';
import { MemoryEngine, openStore } from '../../store/index.js';
import { listCaller, listResource } from './resource-list.js';

const lamps = defineKind<ApiObject>({
  kind: 'Lamp',
  plural: 'lamps',
  scope: 'Cluster',
  statusFields: [],
});

describe('pages of a caller with access to some objects', () => {
  it('are filtered by the access at the request of each page', async () => {
    await using store = await openStore({ engine: new MemoryEngine() });
    for (const name of ['a', 'b', 'c', 'd']) await store.create(lamps, { name });
    const seen = new Set(['a', 'b', 'c', 'd']);
    const page = async (pageToken: string): Promise<readonly [string, unknown]> => {
      const { items, nextPageToken } = await listResource(store, lamps, {
        limit: 2,
        pageToken,
        caller: 'ann',
        visible: ({ name }) => Promise.resolve(seen.has(name)),
        show: (object) => object as unknown as JsonObject,
        clock: systemClock,
      });
      const names = (items as readonly ApiObject[]).map(({ name }) => name);
      return [names.join(), nextPageToken];
    };
    const [first, token] = await page('');
    expect(first).to.equal('a,b');
    seen.delete('c');
    expect((await page(String(token)))[0]).to.equal('d');
    seen.add('c');
    expect((await page(String(token)))[0]).to.equal('c,d');
  });

  it('belong to an account, not to its name; without uids to the name', () => {
    const identity = { subject: 'ann', policies: [], tokenId: 't', expiresAt: undefined } as const;
    const callers = [
      listCaller({ ...identity, kind: 'user', uid: 'one' }),
      listCaller({ ...identity, kind: 'user', uid: 'two' }),
      listCaller({ ...identity, kind: 'user' }),
      listCaller({ ...identity, kind: 'serviceAccount' }),
    ];
    expect(new Set(callers).size).to.equal(callers.length);
    expect(listCaller({ ...identity, kind: 'user', uid: 'one', tokenId: 'other' })).to.equal(
      callers[0],
    );
  });
});
