import { expect } from 'chai';
import { StatusError } from '../../base/index.js';
import { type ApiObject, kindOf } from '../../object/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { FakeClock } from '../../testing/index.js';
import { Authenticator, issueToken, policies, users } from './index.js';
import { type Token, tokens, type User } from './kinds.js';
import { type Proof, ProvenTokens } from './proven-tokens.js';
import { makeToken } from './token-format.js';

const hour = 3_600_000;
const machines = kindOf<ApiObject>()({
  kind: 'Machine',
  plural: 'machines',
  scope: 'Cluster',
  statusFields: [],
});

describe('a token that was verified before', () => {
  let store: ObjectStore;
  let authenticator: Authenticator;
  const clock = new FakeClock();
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine(), clock });
    authenticator = new Authenticator({ store, clock, nodes: machines });
    await store.create(users, { name: 'ann' });
  });
  afterEach(() => store.close());

  async function issued(options: { ttlSeconds?: number; maker?: Token } = {}) {
    const { maker, ...rest } = options;
    const made = await issueToken(store, { subject: 'ann', ...rest }, clock.now(), makeToken());
    const key = { name: made.object.name };
    if (maker)
      await store.updateStatus(tokens, key, { maker: maker.name, makerUid: maker.metadata.uid });
    const token = await store.get(tokens, key);
    if (!token) throw new Error('the token is missing');
    const header = `Bearer ${made.text}`;
    // The first use is recorded in the token; the second one verifies the token with its record.
    await authenticator.authenticate(header);
    await authenticator.flush();
    return { token, header, first: await authenticator.authenticate(header) };
  }
  const reasonOf = (header: string): Promise<string> =>
    authenticator.authenticate(header).then(
      () => 'OK',
      (error: unknown) => StatusError.from(error).reason,
    );

  it('has the same identity', async () => {
    const { header, first } = await issued();
    expect(await authenticator.authenticate(header)).to.equal(first);
  });

  it('is refused once it is deleted, expired, or its user is deleted', async () => {
    const deleted = await issued();
    await store.delete(
      tokens,
      (await store.get(tokens, { name: deleted.token.name })) ?? deleted.token,
    );
    expect(await reasonOf(deleted.header)).to.equal('InvalidToken');
    const brief = await issued({ ttlSeconds: 60 });
    await clock.advance(60_000);
    expect(await reasonOf(brief.header)).to.equal('InvalidToken');
    const lasting = await issued();
    await store.deleteByName(users, { name: 'ann' });
    expect(await reasonOf(lasting.header)).to.equal('InvalidToken');
    await store.create(users, { name: 'ann' });
    expect(await reasonOf(lasting.header)).to.equal('InvalidToken');
  });

  it('is refused once its user is in deletion', async () => {
    const ann = await store.get(users, { name: 'ann' });
    if (!ann) throw new Error('the user is missing');
    await store.update(users, { ...ann, metadata: { ...ann.metadata, finalizers: ['test/held'] } });
    const { header } = await issued();
    await store.deleteByName(users, { name: 'ann' });
    expect(await reasonOf(header)).to.equal('InvalidToken');
  });

  it('is refused once the node of its account is deleted', async () => {
    await store.create(machines, { name: 'n' });
    await store.deleteByName(users, { name: 'ann' });
    await store.create(users, { name: 'ann', kind: 'serviceAccount', node: 'n' });
    const { header, first } = await issued();
    expect((await authenticator.authenticate(header)).node).to.equal(first.node);
    await store.deleteByName(machines, { name: 'n' });
    expect(await reasonOf(header)).to.equal('NodeGone');
  });

  it('has the present rights of its user', async () => {
    const { header } = await issued();
    const policy = await store.create(policies, { name: 'look', rules: [] });
    const ann = await store.get(users, { name: 'ann' });
    if (!ann) throw new Error('the user is missing');
    const policyUids = { look: policy.metadata.uid };
    await store.update(users, { ...ann, policies: ['look'], policyUids });
    const identity = await authenticator.authenticate(header);
    expect(identity.policies).to.deep.equal(['look']);
    expect(identity.policyUids).to.deep.equal(policyUids);
  });

  it('is refused once a token above it is deleted or expired', async () => {
    const maker = await issued({ ttlSeconds: 60 });
    const made = await issued({ maker: maker.token });
    expect(made.first.parent?.tokenId).to.equal(maker.token.name);
    expect(await authenticator.authenticate(made.header)).to.equal(made.first);
    await clock.advance(60_000);
    expect(await reasonOf(made.header)).to.equal('InvalidToken');
    const other = await issued();
    const below = await issued({ maker: other.token });
    await store.deleteByName(tokens, { name: other.token.name });
    expect(await reasonOf(below.header)).to.equal('InvalidToken');
  });

  it('does not verify another header: neither a mistyped one nor one in another form', async () => {
    const { header, first } = await issued();
    for (const wrong of [`${header}0`, header.slice(0, -1), header.toUpperCase(), `x${header}`])
      expect(await reasonOf(wrong), wrong).to.equal('InvalidToken');
    const spaced = await authenticator.authenticate(header.replace('Bearer ', 'bearer   '));
    expect(spaced).to.deep.equal(first);
  });

  it('is recorded as used again after an hour', async () => {
    const { header, token } = await issued();
    const used = async () => (await store.get(tokens, { name: token.name }))?.lastUsedAt;
    const before = await used();
    await clock.advance(hour);
    await authenticator.authenticate(header);
    await authenticator.flush();
    expect(await used()).not.to.equal(before);
  });
});

describe('kept verifications of tokens', () => {
  const proofOf = (
    token: { subjectUid?: string | undefined } = {},
    user: Partial<User> = {},
  ): Proof => {
    const proven = { subjectUid: 'u', ...token } as Token;
    const read = { tokens: [proven], users: [{ name: 'ann', ...user } as User] };
    return { ...read, token: proven, identity: {} as Proof['identity'] };
  };
  const isKept = (proof: Proof): boolean => {
    const proven = new ProvenTokens();
    proven.note('k', proof);
    return proven.get('k') === proof;
  };

  it('are kept only for bound grants, and not for the account of a node', () => {
    expect(isKept(proofOf())).to.equal(true);
    expect(isKept(proofOf({ subjectUid: undefined }))).to.equal(false);
    expect(isKept(proofOf({}, { node: 'n' }))).to.equal(false);
    const policies = ['a', 'b'];
    expect(isKept(proofOf({}, { policies, policyUids: { a: '1' } }))).to.equal(false);
    expect(isKept(proofOf({}, { policies, policyUids: { a: '1', b: '' } }))).to.equal(true);
  });

  it('are kept up to a maximum number, and those that are not renewed are dropped first', () => {
    const proven = new ProvenTokens();
    for (let n = 0; n < 1_024; n += 1) proven.note(`${n}`, proofOf());
    proven.note('0', proofOf());
    proven.note('new', proofOf());
    expect(proven.get('0')).to.not.equal(undefined);
    expect(proven.get('1')).to.equal(undefined);
    expect(proven.get('2')).to.not.equal(undefined);
  });
});
