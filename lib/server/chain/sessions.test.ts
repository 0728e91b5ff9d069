import { expect } from 'chai';
import { silentLogger, StatusError } from '../../base/index.js';
import { FakeClock, settle } from '../../testing/index.js';
import { type Access, accessControl, type Authentication, type Identity } from '../auth/index.js';
import { GuardedStream } from './guarded-stream.js';
import { type OpenSession, Sessions } from './sessions.js';

const never = new AbortController().signal;
const ann: Identity = {
  subject: 'ann',
  kind: 'user',
  policies: [],
  tokenId: 't',
  expiresAt: undefined,
};

/** A stream as the dispatcher runs it. */
function run<T>(
  sessions: Sessions,
  identity: Identity,
  access: Access | undefined,
  signal: AbortSignal,
  source: (signal: AbortSignal) => AsyncIterable<T>,
): AsyncIterable<T> {
  let session: OpenSession | undefined;
  return new GuardedStream({
    open: async () => {
      session = await sessions.open(identity, access, signal);
      return { source: source(session.signal), end: session.end };
    },
    close: () => session?.close(),
  });
}

describe('sessions', () => {
  const access: Access = { resource: 'lamps', verb: 'watch', namespace: 'default' };

  /** An endless stream that records its end. */
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

  it('of many accounts share their limit: the account with the most loses its latest', async () => {
    const sessions = new Sessions({
      authenticator: { authenticate: () => Promise.resolve(ann) },
      authorizer: accessControl(() => true),
      clock: new FakeClock(),
      logger: silentLogger,
      max: 6,
    });
    const outcomes: string[] = [];
    const freed: string[] = [];
    const begin = async (subject: string): Promise<AsyncIterator<number>> => {
      const identity = { ...ann, subject };
      const name = `${subject} ${outcomes.length}`;
      const source = async function* (): AsyncIterable<number> {
        try {
          yield await Promise.resolve(1);
          await new Promise(() => undefined);
        } finally {
          freed.push(name);
        }
      };
      const reader = run(sessions, identity, access, never, source)[Symbol.asyncIterator]();
      outcomes.push(
        await reader.next().then(
          () => 'open',
          (error: unknown) => StatusError.from(error).reason,
        ),
      );
      return reader;
    };
    const flood: AsyncIterator<number>[] = [];
    for (let n = 0; n < 7; n += 1) flood.push(await begin('flooder'));
    const bob = await begin('bob');
    for (let n = 0; n < 4; n += 1) await begin('eve');
    const open = Array<string>(6).fill('open');
    const refused = 'TooManyStreams';
    expect(outcomes).to.deep.equal([...open, refused, 'open', 'open', 'open', 'open', refused]);
    // They have no reader, and their sources are freed nevertheless.
    expect(freed).to.deep.equal(['flooder 5', 'flooder 4', 'flooder 3', 'flooder 2']);
    const next = flood[2]?.next().catch((error: unknown) => StatusError.from(error).reason);
    expect(await next).to.equal(refused);
    await bob.return?.();
    await begin('eve');
    expect(outcomes.at(-1)).to.equal('open');
  });

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
    const reason = reasonOf(run(sessions, { ...ann, expiresAt }, access, never, source));
    await clock.advance(59_999);
    await settle();
    expect(ended()).to.equal(false);
    await clock.advance(1);
    expect(await reason).to.equal('TokenExpired');
    expect(ended()).to.equal(true);
  });

  it('end when a change revokes their right, and others continue', async () => {
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
    const ended = reasonOf(run(sessions, ann, access, never, first.source));
    void reasonOf(run(sessions, { ...ann, subject: 'bob' }, access, never, second.source));
    await settle();
    valid = false;
    change();
    expect(await ended).to.equal('InvalidToken');
    expect(second.ended()).to.equal(false);
    // A right that was revoked before the start of a stream is detected too.
    const late = endless();
    expect(await reasonOf(run(sessions, ann, access, never, late.source))).to.equal('InvalidToken');
    const denied = { ...ann, subject: 'denied' };
    const none = run(sessions, denied, access, never, late.source);
    expect(await reasonOf(none)).to.equal('PermissionDenied');
    valid = true;
    const moved = new Sessions({
      authenticator: { ...authenticator, recheck: () => Promise.resolve({ ...ann, node: 'b' }) },
      authorizer: accessControl(() => true),
      clock,
      logger: silentLogger,
    });
    const elsewhere = run(moved, { ...ann, node: 'a' }, access, never, late.source);
    expect(await reasonOf(elsewhere)).to.equal('PermissionDenied');
  });

  it('end when their right is revoked while the check of another stream hangs', async () => {
    const clock = new FakeClock();
    let change: () => void = () => undefined;
    let hangs = false;
    let valid = true;
    const sessions = new Sessions({
      authenticator: {
        authenticate: () => Promise.resolve(ann),
        recheck: (identity) => {
          if (identity.subject === 'bob' && hangs) return new Promise(() => undefined);
          return valid ? Promise.resolve(identity) : Promise.reject(gone);
        },
      },
      authorizer: accessControl(() => true),
      changes: async function* () {
        for (;;) {
          await new Promise<void>((resolve) => (change = resolve));
          yield;
        }
      },
      clock,
      logger: silentLogger,
    });
    const streams = [endless(), endless()] as const;
    const ended = reasonOf(run(sessions, ann, access, never, streams[0].source));
    void reasonOf(run(sessions, { ...ann, subject: 'bob' }, access, never, streams[1].source));
    await settle();
    hangs = true;
    change();
    await settle();
    valid = false;
    change();
    await settle();
    await clock.advance(1_000);
    await settle();
    expect(streams[0].ended()).to.equal(true);
    expect(await ended).to.equal('InvalidToken');
    sessions.close();
  });

  describe('whose token is revoked', () => {
    /** Sessions of one caller, whose token becomes invalid by `revoke`. */
    function revocable(): { readonly sessions: Sessions; readonly revoke: () => void } {
      let valid = true;
      let change: () => void = () => undefined;
      const sessions = new Sessions({
        authenticator: {
          authenticate: () => Promise.resolve(ann),
          recheck: (identity) => (valid ? Promise.resolve(identity) : Promise.reject(gone)),
        },
        authorizer: accessControl(() => true),
        changes: async function* () {
          for (;;) {
            await new Promise<void>((resolve) => (change = resolve));
            yield;
          }
        },
        clock: new FakeClock(),
        logger: silentLogger,
      });
      const revoke = (): void => {
        valid = false;
        change();
      };
      return { sessions, revoke };
    }

    it('end at once while the source ignores its signal, and release it', async () => {
      const { sessions, revoke } = revocable();
      let wake: () => void = () => undefined;
      let over = false;
      const reason = reasonOf(
        run(sessions, ann, access, never, async function* () {
          try {
            await new Promise<void>((resolve) => (wake = resolve));
            yield 1;
          } finally {
            over = true;
          }
        }),
      );
      await settle();
      revoke();
      expect(await reason).to.equal('InvalidToken');
      wake();
      await settle();
      expect(over).to.equal(true);
    });

    it('deliver nothing more to a slow reader', async () => {
      const { sessions, revoke } = revocable();
      const stream = run(sessions, ann, access, never, async function* () {
        for (let n = 0; n < 100; n += 1) yield await Promise.resolve(n);
      });
      const reader = stream[Symbol.asyncIterator]();
      expect((await reader.next()).value).to.equal(0);
      revoke();
      await settle();
      const next = reader.next().then(
        ({ value }) => String(value),
        (error: unknown) => StatusError.from(error).reason,
      );
      expect(await next).to.equal('InvalidToken');
    });

    it('report the reason, regardless of how the source ends', async () => {
      const { sessions, revoke } = revocable();
      const stops = new StatusError({ code: 'Unavailable', reason: 'Stopping', message: '' });
      const reason = reasonOf(
        run(sessions, ann, access, never, async function* (signal) {
          await new Promise<void>((_, reject) => {
            signal.addEventListener('abort', () => reject(stops), { once: true });
          });
        }),
      );
      await settle();
      revoke();
      expect(await reason).to.equal('InvalidToken');
    });
  });
});
