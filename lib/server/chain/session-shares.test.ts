import { expect } from 'chai';
import { silentLogger, StatusError } from '../../base/index.js';
import { FakeClock } from '../../testing/index.js';
import { accessControl, type Identity } from '../auth/index.js';
import { type OpenSession, Sessions } from './sessions.js';

const never = new AbortController().signal;

describe('the limit of streams', () => {
  let sessions: Sessions;
  beforeEach(() => {
    sessions = new Sessions({
      authenticator: { authenticate: () => Promise.reject(new Error('not called')) },
      authorizer: accessControl(() => true),
      clock: new FakeClock(),
      logger: silentLogger,
      max: 4,
    });
  });
  afterEach(() => sessions.close());

  const open = (subject: string, uid?: string): Promise<OpenSession> => {
    const token = { policies: [], tokenId: 't', expiresAt: undefined };
    const identity: Identity = {
      subject,
      kind: 'user',
      ...token,
      ...(uid === undefined ? {} : { uid }),
    };
    return sessions.open(identity, undefined, never);
  };
  /** Opens `count` streams of an account. */
  const several = async (count: number, subject: string, uid?: string): Promise<OpenSession[]> => {
    const opened: OpenSession[] = [];
    for (let n = 0; n < count; n += 1) opened.push(await open(subject, uid));
    return opened;
  };
  const due = (opened: readonly OpenSession[]): readonly boolean[] =>
    opened.map(({ end }) => end.isDue);
  const refused = (opening: Promise<OpenSession>): Promise<string> =>
    opening.then(
      () => 'open',
      (error: unknown) => StatusError.from(error).reason,
    );

  it('ends no stream of an account in favour of another one that has as many', async () => {
    const hers = await several(2, 'ann');
    const his = await several(2, 'bob');
    expect(await refused(open('bob'))).to.equal('TooManyStreams');
    expect(await refused(open('ann'))).to.equal('TooManyStreams');
    expect(due([...hers, ...his])).to.deep.equal([false, false, false, false]);
  });

  it('counts by the uid of an account: an account that was recreated under its name is another one', async () => {
    const before = await several(4, 'ann', 'uid-1');
    expect(await refused(open('ann', 'uid-2'))).to.equal('open');
    expect(due(before)).to.deep.equal([false, false, false, true]);
  });

  it('counts no stream that was ended for another account, although its caller has not closed it', async () => {
    const flood = await several(4, 'flooder');
    await open('ann');
    await open('bob');
    expect(due(flood)).to.deep.equal([false, false, true, true]);
    expect(await refused(open('flooder'))).to.equal('TooManyStreams');
    for (const one of flood.slice(2)) one.close();
    expect(await refused(open('flooder')), 'closed only once').to.equal('TooManyStreams');
  });
});
