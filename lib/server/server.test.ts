import { expect } from 'chai';
import fc from 'fast-check';
import { invalid, limits, statusCodes, StatusError } from '../base/index.js';
import { MemoryEngine, type ObjectStore, openStore } from '../store/index.js';
import { FakeClock } from '../testing/index.js';
import { decodeStatus, encodeStatus, headerSized } from '../rpc/index.js';
import {
  Authenticator,
  Authorizer,
  bootstrap,
  type Identity,
  issueToken,
  policies,
  users,
} from './auth/index.js';
import { makeToken, parseToken, secretMatches } from './auth/token-format.js';
import { errorBody, publicError } from './error-body.js';
import { formats } from './formats.js';
import { httpStatuses } from './http-status.js';
import { peerOf } from './peer.js';
import { parseBody } from './rest-request.js';
import { fastifyPath } from './rest-server.js';
import { watchEvents } from './sse.js';

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'OK',
    (error: unknown) => StatusError.from(error).code,
  );
}

describe('tokens', () => {
  it('parse back, and match only their own secret', () => {
    const token = makeToken();
    const parsed = parseToken(token.text);
    expect(parsed?.id).to.equal(token.id);
    expect(secretMatches(parsed!.secret, token.hash)).to.equal(true);
    expect(secretMatches(parseToken(makeToken().text)!.secret, token.hash)).to.equal(false);
  });

  it('a change of any one character is told apart', () => {
    const { text } = makeToken();
    fc.assert(
      fc.property(fc.nat(text.length - 1), (at) => {
        const other = text[at] === 'x' ? 'y' : 'x';
        expect(parseToken(`${text.slice(0, at)}${other}${text.slice(at + 1)}`)).to.equal(undefined);
      }),
    );
  });
});

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

  it('refuses a token that expired, was deleted, or whose user is gone', async () => {
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

  it('bootstraps once, also when the root user is deleted', async () => {
    await bootstrap(store);
    await store.deleteByName(users, { name: 'root' });
    expect(await codeOf(bootstrap(store))).to.equal('FailedPrecondition');
  });
});

describe('authorizer', () => {
  const identity = (names: readonly string[]): Identity => ({
    subject: 'ann',
    kind: 'user',
    policies: names,
    tokenId: 't',
    expiresAt: undefined,
  });

  it('denies by default; rules allow by resource, verb and namespace', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    await store.create(policies, {
      name: 'dev',
      rules: [
        { resources: ['volumes'], verbs: ['get', 'list'], namespaces: ['dev'] },
        { resources: ['nodes'], verbs: ['get'], namespaces: ['dev'] },
      ],
    });
    const authorizer = new Authorizer(store);
    const can = (verb: string, resource: string, namespace?: string) =>
      authorizer.can(identity(['dev', 'missing']), { verb, resource, namespace });
    expect(await can('get', 'volumes', 'dev')).to.equal(true);
    expect(await can('get', 'volumes', 'prod')).to.equal(false);
    expect(await can('delete', 'volumes', 'dev')).to.equal(false);
    expect(await can('list', 'volumes', '*')).to.equal(false);
    // A cluster-scoped kind needs a rule for all namespaces.
    expect(await can('get', 'nodes')).to.equal(false);
    await store.close();
  });
});

describe('errors on the wire', () => {
  it('every code has its REST status as the specification says', () => {
    expect(httpStatuses).to.include({
      Unauthenticated: 401,
      PermissionDenied: 403,
      NotFound: 404,
      AlreadyExists: 409,
      InvalidArgument: 400,
      FailedPrecondition: 412,
      Internal: 500,
      Aborted: 409,
      OutOfRange: 410,
    });
    expect(Object.keys(httpStatuses)).to.have.members(Object.keys(statusCodes));
  });

  it('survive gRPC with reason, violations and time to retry', () => {
    const error = new StatusError({
      code: 'InvalidArgument',
      reason: 'ValidationFailed',
      message: 'bad',
      violations: [{ field: 'a.b', description: 'is bad' }],
      resource: { kind: 'Volume', namespace: 'x', name: 'y' },
      retryAfterMs: 1_500,
    });
    const back = decodeStatus(statusCodes.InvalidArgument, 'bad', encodeStatus(error));
    expect(back.code).to.equal('InvalidArgument');
    expect(back.reason).to.equal('ValidationFailed');
    expect(back.violations).to.deep.equal(error.violations);
    expect(back.retryAfterMs).to.equal(1_500);
  });

  it('an error of any size fits into the headers of a gRPC answer', () => {
    const long = '\u20ac'.repeat(100_000);
    for (const violations of [
      [{ field: long, description: long }],
      Array.from({ length: 5_000 }, (_, n) => ({ field: `data.k${n}`, description: 'is wrong' })),
    ]) {
      const error = headerSized(
        new StatusError({
          code: 'InvalidArgument',
          reason: 'ValidationFailed',
          message: long,
          violations,
          resource: { kind: 'Secret', namespace: long, name: long },
        }),
      );
      const bytes = Buffer.from(encodeStatus(error)).toString('base64').length;
      expect(bytes + encodeURIComponent(error.message).length).to.be.below(16_384);
      expect(error.message).to.match(/^\u20ac+\.\.\.$/);
      expect([error.code, error.reason]).to.deep.equal(['InvalidArgument', 'ValidationFailed']);
      expect(error.violations.length).to.be.at.least(1);
    }
    const small = invalid([{ field: 'a', description: 'b' }]);
    expect({ ...headerSized(small), cause: undefined }).to.deep.equal({
      ...small,
      cause: undefined,
    });
  });

  it('have the REST body of the design, and never the text of a foreign error', () => {
    const body = errorBody(invalid([{ field: 'f', description: 'd' }]), 'id');
    expect(body).to.include({ code: 3, status: 'INVALID_ARGUMENT', requestId: 'id' });
    expect(publicError(new Error('password=hunter2')).message).to.not.contain('hunter2');
  });
});

describe('request parsing', () => {
  it('refuses a JSON body of more values than a request may have, and takes text with commas', () => {
    const few = limits.requestItemsMax - 2;
    expect(parseBody(`[${'0,'.repeat(few)}0]`)).to.have.length(few + 1);
    expect(() => parseBody(`[${'0,'.repeat(few + 5)}0]`)).to.throw(/values, at most 131072/);
    expect(() => parseBody(`[${'{},'.repeat(few / 2 + 5)}{}]`)).to.throw(/values, at most/);
    expect(parseBody(JSON.stringify(','.repeat(500_000)))).to.have.length(500_000);
  });
  it('refuses deep nesting, __proto__ and what is not JSON', () => {
    for (const text of ['['.repeat(100_000), '{"a":{"__proto__":{}}}', '{"a":', 'NaN'])
      expect(() => parseBody(text)).to.throw(StatusError);
  });

  it('never throws anything but a StatusError', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          parseBody(text);
        } catch (error) {
          expect(error).to.be.instanceOf(StatusError);
        }
      }),
    );
  });

  it('maps paths of custom verbs so that they do not swallow names', () => {
    expect(fastifyPath('/v1/namespaces/{namespace}/volumes/{name}:resize')).to.equal(
      '/v1/namespaces/:namespace/volumes/:name(^[^:]+)::resize',
    );
    expect(fastifyPath('/v1/nodes:watch')).to.equal('/v1/nodes::watch');
  });

  it('knows loopback peers in every spelling', () => {
    for (const address of ['127.0.0.1:80', '127.9.9.9', '[::1]:80', '::1', '::ffff:127.0.0.1'])
      expect(peerOf(address).loopback, address).to.equal(true);
    for (const address of ['10.0.0.1:80', '[2001:db8::1]:80', '1.127.0.1'])
      expect(peerOf(address).loopback, address).to.equal(false);
  });

  it('dns labels, quantities and paths are judged by their formats', () => {
    const good = {
      'dns-label': 'a-1',
      'dns-subdomain': 'a-1.b',
      'registry-host': '*.example.com:5000',
      'object-reference': 'a.b.svc',
      quantity: '10Gi',
      'int-or-string': '1000:1000',
      'absolute-path': '/a/b',
      'date-time': '2026-02-28T00:00:00.5+01:00',
    };
    const bad = {
      'dns-label': 'A',
      'dns-subdomain': 'a..b',
      'registry-host': 'https://example.com',
      'object-reference': 'a.b',
      quantity: '10Gx',
      'int-or-string': 'a\0b',
      'absolute-path': '/a/../b',
      'date-time': '2026-02-28',
    };
    for (const [name, format] of Object.entries(formats)) {
      expect(format.test(good[name as keyof typeof good]), name).to.equal(true);
      expect(format.test(bad[name as keyof typeof bad]), name).to.equal(false);
    }
    expect(formats['dns-label']?.test('x'.repeat(64))).to.equal(false);
    expect(formats.quantity?.test('0')).to.equal(false);
  });
});

describe('server-sent watch events', () => {
  const object = (name: string, resourceVersion: string) => ({
    name,
    metadata: { resourceVersion },
  });
  async function idsOf(answers: object[]): Promise<(string | undefined)[]> {
    const ids: (string | undefined)[] = [];
    const source = (async function* () {
      yield* answers as Record<string, unknown>[];
    })();
    for await (const event of watchEvents(source)) ids.push(event.id);
    return ids;
  }

  it('give an id only behind the last event of a revision', async () => {
    const events = [
      { type: 'ADDED', object: object('a', '5') },
      { type: 'ADDED', object: object('b', '5') },
      { type: 'ADDED', object: object('c', '6') },
    ];
    const answers = [{ events, resourceVersion: '6.store' }];
    expect(await idsOf(answers)).to.deep.equal([undefined, '5.store', '6.store']);
  });

  it('give no id inside the present state, and one bookmark behind it', async () => {
    const events = [{ type: 'ADDED', object: object('a', '2') }];
    const ids = await idsOf([
      { events, resourceVersion: '' },
      { events: [], resourceVersion: '9.store' },
    ]);
    expect(ids).to.deep.equal([undefined, '9.store']);
  });
});
