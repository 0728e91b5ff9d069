import { expect } from 'chai';
import { StatusError } from '../../base/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../../store/index.js';
import { FakeClock } from '../../testing/index.js';
import { Authenticator, bootstrap, issueToken, users } from './index.js';
import { makeToken } from './token-format.js';

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'OK',
    (error: unknown) => StatusError.from(error).code,
  );
}
describe('authenticator', () => {
  let store: ObjectStore;
  const clock = new FakeClock();
  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine(), clock });
  });
  afterEach(() => store.close());

  it('accepts a valid token and nothing else', async () => {
    const authenticator = new Authenticator({ store, clock });
    const token = await bootstrap(store);
    expect((await authenticator.authenticate(`Bearer ${token}`)).subject).to.equal('root');
    const wrong = [undefined, '', token, 'Bearer', `Basic ${token}`, `Bearer ${token}x`];
    for (const header of [...wrong, `Bearer ${makeToken().text}`, `Bearer ${'x'.repeat(70_000)}`])
      expect(await codeOf(authenticator.authenticate(header)), header).to.equal('Unauthenticated');
  });

  it('refuses a token that expired, was deleted, or whose user was deleted', async () => {
    const authenticator = new Authenticator({ store, clock });
    await store.create(users, { name: 'ann' });
    const brief = await issueToken(
      store,
      { subject: 'ann', ttlSeconds: 60 },
      clock.now(),
      makeToken(),
    );
    const lasting = await issueToken(store, { subject: 'ann' }, clock.now(), makeToken());
    expect(await codeOf(authenticator.authenticate(`Bearer ${brief.text}`))).to.equal('OK');
    await clock.advance(60_000);
    expect(await codeOf(authenticator.authenticate(`Bearer ${brief.text}`))).to.equal(
      'Unauthenticated',
    );
    await store.deleteByName(users, { name: 'ann' });
    expect(await codeOf(authenticator.authenticate(`Bearer ${lasting.text}`))).to.equal(
      'Unauthenticated',
    );
  });

  it('bootstraps once, even if the root user is deleted', async () => {
    await bootstrap(store);
    await store.deleteByName(users, { name: 'root' });
    expect(await codeOf(bootstrap(store))).to.equal('FailedPrecondition');
  });
});
