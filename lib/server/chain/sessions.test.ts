import { expect } from 'chai';
import { silentLogger, StatusError } from '../../base/index.js';
import { FakeClock, settle } from '../../testing/index.js';
import { type Access, accessControl, type Authentication, type Identity } from '../auth/index.js';
import { Sessions } from './sessions.js';

const never = new AbortController().signal;
const ann: Identity = {
  subject: 'ann',
  kind: 'user',
  policies: [],
  tokenId: 't',
  expiresAt: undefined,
};

describe('sessions', () => {
  const access: Access = { resource: 'volumes', verb: 'watch', namespace: 'default' };

  /** A stream without end that says when it was ended. */
  function endless(): {
    readonly source: (signal: AbortSignal) => AsyncIterable<number>;
    readonly ended: () => boolean;
  } {
    let over = false;
    return {
      ended: () => over,
      source: async function* (signal) {
        yield 1;
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true });
          if (signal.aborted) resolve();
        });
        over = true;
      },
    };
  }
  async function reasonOf(stream: AsyncIterable<unknown>): Promise<string> {
    try {
      for await (const _ of stream);
      return 'ended';
    } catch (error) {
      return StatusError.from(error).reason;
    }
  }
  const gone = new StatusError({ code: 'Unauthenticated', reason: 'InvalidToken', message: '' });

  it('end when they expire, to the millisecond', async () => {
    const clock = new FakeClock();
    const expiresAt = new Date(clock.now() + 60_000).toISOString();
    const sessions = new Sessions({
      authenticator: { authenticate: () => Promise.resolve(ann) },
      authorizer: accessControl(() => true),
      clock,
      logger: silentLogger,
    });
    const { source, ended } = endless();
    const reason = reasonOf(sessions.run({ ...ann, expiresAt }, access, never, source));
    await clock.advance(59_999);
    await settle();
    expect(ended()).to.equal(false);
    await clock.advance(1);
    expect(await reason).to.equal('TokenExpired');
    expect(ended()).to.equal(true);
  });

  it('end when a change took the right away, whichever it was, and only those', async () => {
    const clock = new FakeClock();
    let valid = true;
    let change: () => void = () => undefined;
    const authenticator: Authentication = {
      authenticate: () => Promise.resolve(ann),
      recheck: (identity) =>
        valid || identity.subject !== 'ann' ? Promise.resolve(identity) : Promise.reject(gone),
    };
    const sessions = new Sessions({
      authenticator,
      authorizer: accessControl(({ subject }) => subject !== 'denied'),
      changes: async function* () {
        for (;;) {
          await new Promise<void>((resolve) => (change = resolve));
          yield;
        }
      },
      clock,
      logger: silentLogger,
    });
    const first = endless();
    const second = endless();
    const ended = reasonOf(sessions.run(ann, access, never, first.source));
    void reasonOf(sessions.run({ ...ann, subject: 'bob' }, access, never, second.source));
    await settle();
    valid = false;
    change();
    expect(await ended).to.equal('InvalidToken');
    expect(second.ended()).to.equal(false);
    // What was taken away before a stream is entered is seen too.
    const late = endless();
    expect(await reasonOf(sessions.run(ann, access, never, late.source))).to.equal('InvalidToken');
    const denied = { ...ann, subject: 'denied' };
    const none = sessions.run(denied, access, never, late.source);
    expect(await reasonOf(none)).to.equal('PermissionDenied');
    valid = true;
    const moved = new Sessions({
      authenticator: { ...authenticator, recheck: () => Promise.resolve({ ...ann, node: 'b' }) },
      authorizer: accessControl(() => true),
      clock,
      logger: silentLogger,
    });
    const elsewhere = moved.run({ ...ann, node: 'a' }, access, never, late.source);
    expect(await reasonOf(elsewhere)).to.equal('PermissionDenied');
  });
});
