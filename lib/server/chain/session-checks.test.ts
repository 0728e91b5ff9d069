import { setMaxListeners } from 'node:events';
import { expect } from 'chai';
import { silentLogger, StatusError } from '../../base/index.js';
import { eventually, FakeClock, settle } from '../../testing/index.js';
import { accessControl, type Identity } from '../auth/index.js';
import { GuardedStream } from './guarded-stream.js';
import { type OpenSession, Sessions } from './sessions.js';

const tokens = 300;
const checkMs = 0.1;
const lost = new StatusError({ code: 'Unauthenticated', reason: 'InvalidToken', message: '' });

/** A clock of turns in which only checks take time. */
class WorkClock extends FakeClock {
  longestMs = 0;
  #turnMs = 0;

  override turnAgeMs(): number {
    return this.#turnMs;
  }

  override defer(callback: () => void): void {
    setImmediate(() => {
      this.#turnMs = 0;
      callback();
    });
  }

  begin(): void {
    this.#turnMs = 0;
    this.longestMs = 0;
  }

  takes(ms: number): void {
    this.#turnMs += ms;
    this.longestMs = Math.max(this.longestMs, this.#turnMs);
  }
}

describe('a change of rights that concerns many tokens', () => {
  let clock: WorkClock;
  let sessions: Sessions;
  let change: () => void;
  let checked: number;
  let isRevoked: boolean;
  /** Ids of further revoked tokens. `isRevoked` revokes the last token. */
  let revoked: Set<string>;
  let onCheck: () => void;
  const never = new AbortController().signal;
  setMaxListeners(0, never);
  const identity = (at: number): Identity => ({
    subject: `user-${at}`,
    kind: 'user',
    policies: [],
    tokenId: `${at}`,
    tokenUid: `uid-${at}`,
    expiresAt: undefined,
  });

  beforeEach(() => {
    clock = new WorkClock();
    let isChanged = false;
    let wake = (): void => undefined;
    change = () => {
      isChanged = true;
      wake();
    };
    onCheck = () => undefined;
    isRevoked = false;
    revoked = new Set();
    sessions = new Sessions({
      authenticator: {
        authenticate: () => Promise.reject(new Error('not called')),
        recheck: (given) => {
          checked += 1;
          clock.takes(checkMs);
          onCheck();
          if (given.tokenId === 'hangs' && isRevoked) return new Promise(() => undefined);
          const isLost =
            revoked.has(given.tokenId) || (isRevoked && given.tokenId === `${tokens - 1}`);
          return isLost ? Promise.reject(lost) : Promise.resolve(given);
        },
      },
      authorizer: accessControl(() => true),
      changes: async function* () {
        for (;;) {
          if (!isChanged) await new Promise<void>((resolve) => (wake = resolve));
          isChanged = false;
          yield;
        }
      },
      clock,
      logger: silentLogger,
    });
  });
  afterEach(() => sessions.close());

  /** Opens a stream of each token, whose sources give a value whenever `give` is called. */
  async function opened(first: readonly Identity[] = []): Promise<{
    readonly outcomes: string[];
    readonly give: () => void;
  }> {
    const outcomes: string[] = [];
    const gives: (() => void)[] = [];
    const source = async function* (): AsyncGenerator<string> {
      for (;;) yield await new Promise<string>((resolve) => gives.push(() => resolve('a value')));
    };
    const all = [...first, ...Array.from({ length: tokens }, (_, at) => identity(at))];
    for (const [at, one] of all.entries()) {
      let session: OpenSession | undefined;
      const stream = new GuardedStream<string>({
        open: async () => {
          session = await sessions.open(one, undefined, never);
          return { source: source(), end: session.end };
        },
        close: () => session?.close(),
      });
      void stream.next().then(
        ({ value }) => (outcomes[at] = value ?? 'ended'),
        (error: unknown) => (outcomes[at] = StatusError.from(error).reason),
      );
    }
    await eventually('all streams', () => gives.length === all.length);
    await settle();
    checked = 0;
    clock.begin();
    return { outcomes, give: () => gives.splice(0).forEach((one) => one()) };
  }

  it('is checked over several turns', async () => {
    await opened();
    change();
    await eventually('all checks', () => checked === tokens);
    expect(clock.longestMs).to.be.within(4, 4 + 32 * checkMs);
  });

  it('lets no value pass to a stream whose check has not begun, and delays those of others', async () => {
    const { outcomes, give } = await opened();
    isRevoked = true;
    let before: number | undefined;
    onCheck = () => {
      if (checked === 10) give();
      if (checked === tokens) before = outcomes.length;
    };
    change();
    await eventually('all checks', () => before !== undefined);
    expect(before, 'values before the last check').to.equal(0);
    await eventually('all values', () => outcomes.filter(Boolean).length === tokens);
    expect(new Set(outcomes.slice(0, -1))).to.deep.equal(new Set(['a value']));
    expect(outcomes.at(-1)).to.equal('InvalidToken');
  });

  it('lets no value pass to a stream whose token was revoked after its check, during those of others', async () => {
    const { outcomes, give } = await opened();
    onCheck = () => {
      if (checked !== tokens / 2) return;
      revoked = new Set(['0', '1']);
      change();
      give();
    };
    change();
    await eventually('all values', () => outcomes.filter(Boolean).length === tokens);
    expect(outcomes.slice(0, 2)).to.deep.equal(['InvalidToken', 'InvalidToken']);
    expect(new Set(outcomes.slice(2))).to.deep.equal(new Set(['a value']));
  });

  it('delays a value for two passes at most, also if rights change without end', async () => {
    const { outcomes, give } = await opened();
    let givenAt = 0;
    let passedAt: number | undefined;
    onCheck = () => {
      if (checked === tokens / 2) {
        give();
        givenAt = checked;
      }
      if (outcomes.filter(Boolean).length === tokens) passedAt ??= checked;
      if (passedAt === undefined && checked < 10 * tokens) change();
    };
    change();
    await eventually('all values', () => passedAt !== undefined || checked >= 10 * tokens);
    expect(passedAt).to.be.within(givenAt, givenAt + 2 * tokens);
  });

  it('delays no value for a check that takes long', async () => {
    const { outcomes, give } = await opened([{ ...identity(0), tokenId: 'hangs', tokenUid: 'h' }]);
    isRevoked = true;
    change();
    await eventually('all checks', () => checked === tokens + 1);
    give();
    await eventually('all values', () => outcomes.filter(Boolean).length === tokens + 1);
    expect(outcomes.at(-1)).to.equal('InvalidToken');
    expect(outcomes[0]).to.equal('a value');
  });
});
