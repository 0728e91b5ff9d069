import { expect } from 'chai';
import { silentLogger, StatusError } from '../../base/index.js';
import { FakeClock, settle } from '../../testing/index.js';
import { accessControl, type Identity } from '../auth/index.js';
import { GuardedStream } from './guarded-stream.js';
import { PacedEnds, StreamEnd } from './paced-ends.js';
import { Sessions } from './sessions.js';

/** Turns of the event loop, which the test runs. */
class Turns {
  readonly #deferred: (() => void)[] = [];
  readonly defer = (callback: () => void): void => void this.#deferred.push(callback);

  get isIdle(): boolean {
    return this.#deferred.length === 0;
  }

  next(): void {
    for (const callback of this.#deferred.splice(0)) callback();
  }
}

const lost = new StatusError({ code: 'PermissionDenied', reason: 'PermissionDenied', message: '' });

describe('ends of many streams', () => {
  it('are spread over turns, in order, each with its first reason', () => {
    const turns = new Turns();
    const ends = new PacedEnds(turns);
    const order: number[] = [];
    const all = Array.from({ length: 70 }, () => new StreamEnd());
    for (const [at, { signal }] of all.entries())
      signal.addEventListener('abort', () => order.push(at));
    for (const end of all) ends.end(end, lost);
    for (const end of all) ends.end(end, new Error('a second reason'));
    const counts = [order.length];
    for (let turn = 0; turn < 4; turn += 1) {
      turns.next();
      counts.push(order.length);
    }
    expect(counts).to.deep.equal([32, 64, 70, 70, 70]);
    expect(order).to.deep.equal([...all.keys()]);
    expect(all.every(({ signal }) => signal.reason === lost)).to.equal(true);
    expect(turns.isIdle).to.equal(true);
  });

  it('are due at once: no value of theirs is passed on before the signal aborts', async () => {
    const end = new StreamEnd();
    let give: (value: number) => void = () => undefined;
    const source = async function* (): AsyncGenerator<number> {
      for (;;) yield await new Promise<number>((resolve) => (give = resolve));
    };
    const stream = new GuardedStream<number>({
      open: () => Promise.resolve({ source: source(), end }),
      close: () => undefined,
    });
    const outcomes: string[] = [];
    const ask = async (): Promise<void> => {
      const result = await stream.next().then(({ value }) => String(value), String);
      outcomes.push(result);
    };
    void ask();
    await settle();
    give(1);
    await settle();
    void ask();
    await settle();
    end.mark(new Error('lost'));
    give(2);
    await settle();
    expect(outcomes).to.deep.equal(['1']);
    end.abort();
    await settle();
    expect(outcomes).to.deep.equal(['1', 'Error: lost']);
  });

  it('pass on no further request, and end the requests of a consumer that leaves', async () => {
    const end = new StreamEnd();
    const log: string[] = [];
    const source: AsyncIterator<number> = {
      next: () => Promise.resolve({ done: false, value: log.push('asked') }),
      return: () => {
        log.push('returned');
        return Promise.resolve({ done: true, value: undefined });
      },
    };
    for await (const value of end.until(source)) {
      log.push(String(value));
      if (value > 1) end.mark(lost);
    }
    expect(log).to.deep.equal(['asked', '1', 'asked', '3', 'asked']);
    for await (const _ of new StreamEnd().until(source)) break;
    expect(log.slice(5)).to.deep.equal(['asked', 'returned']);
  });
});

describe('a change of rights', () => {
  it('is checked once for each token and access, and ends those streams only', async () => {
    const identity = (tokenUid: string): Identity => ({
      subject: 'ann',
      kind: 'user',
      policies: [],
      tokenId: tokenUid,
      tokenUid,
      expiresAt: undefined,
    });
    let change: () => void = () => undefined;
    const checked: string[] = [];
    let denied = '';
    const sessions = new Sessions({
      authenticator: {
        authenticate: () => Promise.resolve(identity('a')),
        recheck: (given) => {
          checked.push(given.tokenId);
          return given.tokenId === 'gone' ? Promise.reject(lost) : Promise.resolve(given);
        },
      },
      authorizer: accessControl(({ tokenId }, { namespace }) => {
        checked.push(`${tokenId} ${namespace}`);
        return namespace !== denied;
      }),
      changes: async function* () {
        for (;;) {
          await new Promise<void>((resolve) => (change = resolve));
          yield;
        }
      },
      clock: new FakeClock(),
      logger: silentLogger,
    });
    const never = new AbortController().signal;
    const open = (token: string, namespace: string) =>
      sessions.open(identity(token), { resource: 'lamps', verb: 'watch', namespace }, never);
    const streams = [];
    for (const token of ['a', 'b'])
      for (let n = 0; n < 20; n += 1) streams.push(await open(token, n % 2 ? 'x' : 'y'));
    checked.length = 0;
    denied = 'x';
    change();
    await settle();
    expect(checked.toSorted()).to.deep.equal(['a', 'a x', 'a y', 'b', 'b x', 'b y']);
    expect(streams.map(({ end }) => end.isDue)).to.deep.equal(streams.map((_, n) => n % 2 === 1));
    sessions.close();
  });
});
