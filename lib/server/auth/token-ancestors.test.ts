import { expect } from 'chai';
import { StatusError, timestamp } from '../../base/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { FakeClock } from '../../testing/index.js';
import { throughAncestors } from '../api/object-access.js';
import { ancestorsMax } from './token-ancestors.js';
import {
  accessControl,
  Authenticator,
  Authorizer,
  type Identity,
  makeToken,
  policies,
  requireTokenDepth,
  tokenCreation,
  tokens,
  users,
} from './index.js';

const lamps = { resource: 'lamps', verb: 'get', namespace: 'default' };
const allowing = [{ resources: ['lamps'], verbs: ['get'], namespaces: ['*'] }];

describe('a token that was created with another one', () => {
  const clock = new FakeClock();
  let store: ObjectStore;
  let authenticator: Authenticator;
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine(), clock });
    authenticator = new Authenticator({ store, clock });
    await store.create(policies, { name: 'reader', rules: allowing });
    for (const name of ['ann', 'ben']) await store.create(users, { name, policies: ['reader'] });
  });
  afterEach(() => store.close());

  const callerOf = (token: string): Promise<Identity> =>
    authenticator.authenticate(`Bearer ${token}`);
  const refusal = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => 'none',
      (error: unknown) => StatusError.from(error).reason,
    );
  async function issue(subject: string, ttlSeconds: number, maker?: Identity): Promise<string> {
    const user = await store.get(users, { name: subject });
    const material = makeToken();
    const by = maker && {
      id: maker.tokenId,
      uid: maker.tokenUid ?? '',
      expiresAt: maker.expiresAt,
    };
    const uid = user?.metadata.uid ?? '';
    const request = { subject, ttlSeconds };
    await store.transact([tokenCreation(request, uid, clock.now(), material, by)]);
    return material.text;
  }

  it('expires with its parent at the latest', async () => {
    const maker = await callerOf(await issue('ann', 60));
    for (const asked of [0, 61, 1e9]) {
      const made = await callerOf(await issue('ben', asked, maker));
      expect(made.expiresAt).to.equal(maker.expiresAt);
      expect(await store.get(tokens, { name: made.tokenId })).to.include({ ttlSeconds: 60 });
    }
    const brief = await callerOf(await issue('ben', 30, maker));
    expect(brief.expiresAt).to.equal(timestamp({ now: () => clock.now() + 30_000 } as FakeClock));
    const text = await issue('ben', 0, maker);
    await clock.advance(60_000);
    expect(await refusal(callerOf(text))).to.equal('InvalidToken');
  });

  it('is refused, like its own children, once its parent is revoked', async () => {
    const first = await callerOf(await issue('ann', 0));
    const second = await callerOf(await issue('ben', 0, first));
    const text = await issue('ann', 0, second);
    const third = await callerOf(text);
    await store.deleteByName(tokens, { name: first.tokenId });
    expect(await refusal(callerOf(text))).to.equal('InvalidToken');
    expect(await refusal(authenticator.recheck(third))).to.equal('InvalidToken');
  });

  it('is refused once the user of its parent is deleted', async () => {
    const text = await issue('ben', 0, await callerOf(await issue('ann', 0)));
    await store.deleteByName(users, { name: 'ann' });
    expect(await refusal(callerOf(text))).to.equal('InvalidToken');
  });

  it('has only rights that both its user and its creator have', async () => {
    const authorizer = new Authorizer(store);
    const own = accessControl(({ policies: held }) => held.includes('reader'));
    const maker = await issue('ann', 0);
    const text = await issue('ben', 0, await callerOf(maker));
    // A further token of the creator, which it creates with that token.
    const further = await issue('ann', 0, await callerOf(text));
    const may = async (token: string): Promise<readonly boolean[]> => {
      const caller = await callerOf(token);
      return Promise.all([authorizer.can(caller, lamps), own.can(caller, lamps)]);
    };
    expect(await may(text)).to.deep.equal([true, true]);
    const set = async (name: string, held: readonly string[]): Promise<void> => {
      const user = await store.get(users, { name });
      if (user) await store.update(users, { ...user, policyUids: {}, policies: held });
    };
    await set('ann', []);
    expect(await may(text)).to.deep.equal([false, false]);
    await set('ann', ['reader']);
    await set('ben', []);
    expect(await may(maker)).to.deep.equal([true, true]);
    expect(await may(text)).to.deep.equal([false, false]);
    expect(await may(further)).to.deep.equal([false, false]);
  });

  it('accesses no object that its creator may not access', async () => {
    const maker = await callerOf(await issue('ann', 0));
    const made = await callerOf(await issue('ben', 0, maker));
    const access = throughAncestors({
      filterFor: ({ node }) => node && { allows: (_resource, _verb, { name }) => name === node },
    } as Parameters<typeof throughAncestors>[0]);
    expect(access.filterFor(made)).to.equal(undefined);
    const filter = access.filterFor({ ...made, parent: { ...maker, node: 'one' } });
    const object = { metadata: {} } as never;
    expect(
      await filter?.allows('rooms', 'get', { ...(object as object), name: 'one' } as never),
    ).to.equal(true);
    expect(
      await filter?.allows('rooms', 'get', { ...(object as object), name: 'two' } as never),
    ).to.equal(false);
  });

  it('depends on a bounded number of ancestors', async () => {
    let caller = await callerOf(await issue('ann', 0));
    for (let count = 1; count <= ancestorsMax; count += 1) {
      requireTokenDepth(caller);
      caller = await callerOf(await issue('ann', 0, caller));
    }
    expect(() => requireTokenDepth(caller)).to.throw(
      `token "${caller.tokenId}" was created through a chain of 8 other tokens`,
    );
    expect(await refusal(callerOf(await issue('ann', 0, caller)))).to.equal('InvalidToken');
  });
});
