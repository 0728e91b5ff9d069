import { expect } from 'chai';
import { silentLogger, StatusError } from '../base/index.js';
import { declareKind, string } from '../object/index.js';
import { methodTable } from '../rpc/index.js';
import { FakeClock, settle } from '../testing/index.js';
import { AnswerEncoder } from './answer-encoding.js';
import { type Access, accessControl, type Authentication, type Identity } from './auth/index.js';
import { describeKinds } from './describe-kinds.js';
import { FailureDelay } from './failure-delay.js';
import { encodeList, listText, wholeItemsMax } from './list-encoding.js';
import { RecentCache } from './recent-cache.js';
import { acceptsGzip, isKnown } from './rest-headers.js';
import { RouteMatcher } from './route-matcher.js';
import { Sessions } from './sessions.js';

const never = new AbortController().signal;
const ann: Identity = {
  subject: 'ann',
  kind: 'user',
  policies: [],
  tokenId: 't',
  expiresAt: undefined,
};

describe('answers to failures', () => {
  it('come slower and slower for one peer, at once for others, and again at once after a while', async () => {
    const clock = new FakeClock();
    const delay = new FailureDelay(clock);
    const answered = async (peer: string, afterMs: number): Promise<boolean> => {
      let done = false;
      void delay.failed(peer, never).then(() => (done = true));
      await settle();
      if (afterMs > 0) {
        expect(done).to.equal(false);
        await clock.advance(afterMs);
        await settle();
      }
      return done;
    };
    for (let n = 0; n < 3; n += 1) expect(await answered('a', 0)).to.equal(true);
    expect(await answered('a', 100)).to.equal(true);
    expect(await answered('a', 200)).to.equal(true);
    expect(await answered('a', 400)).to.equal(true);
    expect(await answered('b', 0)).to.equal(true);
    for (let n = 0; n < 10; n += 1) expect(await answered('a', 5_000)).to.equal(true);
    await clock.advance(61_000);
    expect(await answered('a', 0)).to.equal(true);
  });
});

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

const notes = declareKind({
  kind: 'Note',
  plural: 'notes',
  scope: 'Namespaced',
  fields: { text: string() },
});

describe('encodings', () => {
  const { schemas, packageName } = describeKinds('notes.v1', [notes]);
  const methods = methodTable(schemas, packageName, [notes]);
  const method = (verb: string) => methods.find((m) => m.standard?.verb === verb)!;
  const note = (n: number) => ({
    name: `n-${n}`,
    namespace: 'default',
    metadata: { uid: `u${n}`, resourceVersion: String(n) },
    text: 'ä'.repeat(n % 300),
  });

  it('a long list in parts is the list, as protobuf and as JSON', async () => {
    const items = Array.from({ length: wholeItemsMax * 3 }, (_, n) => note(n));
    const answer = { items, resourceVersion: '7', nextPageToken: 'more' };
    const clock = new FakeClock();
    const { output } = method('List');
    const bytes = await encodeList(schemas, output, answer, items, clock);
    expect(schemas.decode(output, bytes)).to.deep.equal(
      schemas.decode(output, schemas.encode(output, answer)),
    );
    let text = '';
    for await (const part of listText(answer, items, clock)) text += part;
    expect(JSON.parse(text)).to.deep.equal(answer);
  });

  it('watch answers put together from kept objects are what the schema says', () => {
    const encoder = new AnswerEncoder(schemas);
    const watch = method('Watch');
    const events = [
      { type: 'ADDED', object: note(1) },
      { type: 'DELETED', object: note(299) },
      { type: 'MODIFIED', object: { ...note(2), text: 'x'.repeat(40_000) } },
    ];
    for (const answer of [
      { events, resourceVersion: '9' },
      { events: [], resourceVersion: '10' },
      { events: events.slice(1), resourceVersion: '' },
    ])
      for (let round = 0; round < 2; round += 1)
        expect(schemas.decode(watch.output, encoder.encode(watch, answer))).to.deep.equal(
          schemas.decode(watch.output, schemas.encode(watch.output, answer)),
        );
  });

  it('the cache of recent results keeps the last ones and makes each once', () => {
    const cache = new RecentCache<object, number>(2);
    const keys = [{}, {}, {}];
    let made = 0;
    const of = (n: number) => cache.of(keys[n]!, () => (made += 1));
    expect([of(0), of(1), of(0), of(2), of(0)]).to.deep.equal([1, 2, 1, 3, 4]);
    // Of two results that weigh too much together the older one goes.
    made = 0;
    const heavy = new RecentCache<object, number>(9, { of: () => 6, max: 10 });
    const kept = (n: number) => heavy.of(keys[n]!, () => (made += 1));
    expect([kept(0), kept(0), kept(1), kept(1), kept(0)]).to.deep.equal([1, 1, 2, 2, 3]);
  });

  it('a large object that many watch is encoded once', () => {
    let encoded = 0;
    const counting = new Proxy(schemas, {
      get: (target, key) => {
        if (key === 'encode') encoded += 1;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const encoder = new AnswerEncoder(counting);
    const object = { ...note(2), text: 'x'.repeat(200_000) };
    const answer = { events: [{ type: 'MODIFIED', object }], resourceVersion: '9' };
    for (let watcher = 0; watcher < 5; watcher += 1) encoder.encode(method('Watch'), answer);
    expect(encoded).to.equal(1);
  });
});

describe('headers and paths', () => {
  it('entity tags are compared weakly for reading, gzip is taken unless refused', () => {
    expect([isKnown('W/"1"', '"1"'), isKnown('*', '"1"'), isKnown('"2"', '"1"')]).to.deep.equal([
      true,
      true,
      false,
    ]);
    const takes = ['gzip', '*', 'br, gzip;q=0.5', 'gzip;q=0', 'br', undefined].map(acceptsGzip);
    expect(takes).to.deep.equal([true, true, true, false, false, false]);
  });

  it('a path tells its methods; a name ends at a colon and may hold an encoded slash', () => {
    const route = (verb: 'GET' | 'POST', path: string) => ({
      ...({} as ReturnType<typeof methodTable>[number]),
      route: { method: verb, path, body: '' },
    });
    const matcher = new RouteMatcher(
      [route('GET', '/v1/{namespace}/x/{name}'), route('POST', '/v1/{namespace}/x/{name}:go')],
      [],
    );
    expect(matcher.methodsOf('/v1/a/x/b')).to.deep.equal(['GET']);
    expect(matcher.methodsOf('/v1/a/x/b/')).to.deep.equal(['GET']);
    expect(matcher.methodsOf('/v1/a/x/b%2Fc')).to.deep.equal(['GET']);
    expect(matcher.methodsOf('/v1/a/x/b:go')).to.deep.equal(['POST']);
    expect(matcher.methodsOf('/v1/a/x/b/c')).to.deep.equal([]);
    expect(matcher.methodsOf('/v1/a/x/%ff')).to.deep.equal(['GET']);
  });
});
