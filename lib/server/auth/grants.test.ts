import { expect } from 'chai';
import { StatusError } from '../../base/index.js';
import { type ApiObject, kindOf } from '../../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { FakeClock } from '../../testing/index.js';
import {
  Authenticator,
  Authorizer,
  bootstrap,
  issueToken,
  makeToken,
  policies,
  recoverRoot,
  seedPolicies,
  tokens,
  users,
} from './index.js';

const nodes = kindOf<ApiObject>()({
  kind: 'Machine',
  plural: 'machines',
  scope: 'Cluster',
  statusFields: [],
});
const everything = [{ resources: ['*'], verbs: ['*'], namespaces: ['*'] }];
const access = { resource: 'lamps', verb: 'get', namespace: 'default' };

describe('grants are bound to uids', () => {
  const clock = new FakeClock();
  let store: ObjectStore;
  let authenticator: Authenticator;
  let authorizer: Authorizer;
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine(), clock });
    authenticator = new Authenticator({ store, clock, nodes });
    authorizer = new Authorizer(store);
  });
  afterEach(() => store.close());

  const issue = async (subject: string): Promise<string> =>
    (await issueToken(store, { subject }, clock.now(), makeToken())).text;
  const answer = async (token: string): Promise<string> =>
    authenticator.authenticate(`Bearer ${token}`).then(
      ({ subject }) => subject,
      (error: unknown) => StatusError.from(error).reason,
    );
  const may = async (token: string): Promise<boolean> =>
    authorizer.can(await authenticator.authenticate(`Bearer ${token}`), access);
  /** Stores a token as an earlier release did: with the name of its user, without its uid. */
  async function storedByName(subject: string): Promise<string> {
    const { id: name, hash: secretHash, text } = makeToken();
    await store.create(tokens, { name, subject, secretHash });
    return text;
  }

  it('a token belongs to its user, never to another user of that name', async () => {
    await store.create(users, { name: 'ann' });
    const token = await issue('ann');
    const before = await authenticator.authenticate(`Bearer ${token}`);
    await store.deleteByName(users, { name: 'ann' });
    await store.create(users, { name: 'ann' });
    expect(await answer(token)).to.equal('InvalidToken');
    const again = await authenticator.recheck(before).catch((e: unknown) => StatusError.from(e));
    expect(again).to.include({ code: 'Unauthenticated' });
    expect(await answer(await issue('ann'))).to.equal('ann');
  });

  it('a user that is being deleted can no longer call', async () => {
    await store.create(users, { name: 'ann', metadata: { finalizers: ['example.com/keep'] } });
    const token = await issue('ann');
    await store.deleteByName(users, { name: 'ann' });
    expect(await answer(token)).to.equal('InvalidToken');
  });

  it('a recovered root does not revive the tokens of the previous root', async () => {
    await seedPolicies(store);
    const first = await bootstrap(store);
    expect(await may(first)).to.equal(true);
    await store.deleteByName(users, { name: 'root' });
    const second = await recoverRoot(store);
    expect(await answer(first)).to.equal('InvalidToken');
    expect(await may(second)).to.equal(true);
    const third = await recoverRoot(store);
    expect([await may(second), await may(third)]).to.deep.equal([true, true]);
  });

  it('a recovered root of a store without a bootstrap leaves none to others', async () => {
    await seedPolicies(store);
    const token = await recoverRoot(store);
    expect(await may(token)).to.equal(true);
    const refused: unknown = await bootstrap(store).catch((error: unknown) => error);
    expect(refused).to.include({ code: 'FailedPrecondition', reason: 'AlreadyBootstrapped' });
  });

  it('a recreated policy grants nothing to the holders of the previous one', async () => {
    await store.create(policies, { name: 'all', rules: everything });
    await store.create(users, { name: 'ann', policies: ['all'] });
    const token = await issue('ann');
    expect(await may(token)).to.equal(true);
    await store.deleteByName(policies, { name: 'all' });
    expect(await may(token)).to.equal(false);
    await store.create(policies, { name: 'all', rules: everything });
    expect(await may(token)).to.equal(false);
  });

  it('a policy that did not exist when the user was written grants nothing when it is created', async () => {
    await store.create(users, { name: 'ann', policies: ['all'] });
    const token = await issue('ann');
    await clock.advance(1);
    await store.create(policies, { name: 'all', rules: everything });
    expect(await may(token)).to.equal(false);
  });

  it('a built-in policy applies also to a user that was stored before it', async () => {
    const token = await bootstrap(store);
    await clock.advance(1);
    await seedPolicies(store);
    expect(await may(token)).to.equal(true);
  });

  it('the account of a node is bound to the first node of its name, never to a later one', async () => {
    await store.create(users, { name: 'agent', kind: 'serviceAccount', node: 'node-1' });
    const token = await issue('agent');
    expect((await authenticator.authenticate(`Bearer ${token}`)).node).to.equal('node-1');
    await store.create(nodes, { name: 'node-1' });
    const met = await authenticator.authenticate(`Bearer ${token}`);
    await store.deleteByName(nodes, { name: 'node-1' });
    expect(await answer(token)).to.equal('NodeGone');
    await store.create(nodes, { name: 'node-1' });
    expect(await answer(token)).to.equal('NodeGone');
    const again = await authenticator.recheck(met).catch((e: unknown) => StatusError.from(e));
    expect(again).to.include({ reason: 'NodeGone' });
  });

  describe('in a store of an earlier release, with names of users and policies only', () => {
    it('are kept, and bound to uids by bindGrants', async () => {
      await store.create(policies, { name: 'all', rules: everything });
      await store.create(users, { name: 'ann', policies: ['all'] });
      const token = await storedByName('ann');
      expect(await authenticator.bindGrants()).to.deep.equal([]);
      expect(await may(token)).to.equal(true);
      // A user that was created at the same instant is another one, too.
      await store.deleteByName(users, { name: 'ann' });
      await store.create(users, { name: 'ann', policies: ['all'] });
      expect(await answer(token)).to.equal('InvalidToken');
    });

    it('are kept without bindGrants: the first use binds them', async () => {
      await store.create(users, { name: 'ann' });
      const token = await storedByName('ann');
      expect(await answer(token)).to.equal('ann');
      await store.deleteByName(users, { name: 'ann' });
      await store.create(users, { name: 'ann' });
      expect(await answer(token)).to.equal('InvalidToken');
    });

    it('end if the user is younger than its token, which bindGrants reports', async () => {
      const token = await storedByName('ann');
      await clock.advance(1);
      await store.create(users, { name: 'ann' });
      expect(await answer(token)).to.equal('InvalidToken');
      const [left, ...more] = await authenticator.bindGrants();
      expect(left).to.include({ subject: 'ann' });
      expect(more).to.deep.equal([]);
    });
  });
});
