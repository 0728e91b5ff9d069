import { expect } from 'chai';
import { type Driver, DriverError } from '@kedge/driver-sdk';
import {
  type ErrorRow,
  type ProviderCall,
  ProviderClient,
  providerDriver,
  type Transport,
  TransportError,
  type TransportReply,
  type TransportRequest,
} from '@kedge/driver-sdk/provider';
import { builtinDrivers } from '@kedge/drivers';
import { FakeClock } from 'kedge/testing';

const token = 'dop_v1_0123456789abcdef';
const rows: readonly ErrorRow[] = [
  {
    status: [403],
    message: /capacity limit/,
    kind: 'QuotaExceeded',
    remedy: 'raise the limit',
    retryElsewhere: true,
    limit: 7,
    source: 'of this test',
    example: { status: 403, code: '', message: 'capacity limit exceeded' },
  },
];

describe('the client of a provider', () => {
  let clock: FakeClock;
  let sent: TransportRequest[];
  let answer: Transport;
  let seen: string[];
  let client: ProviderClient;
  const reply = (
    status: number,
    body: unknown,
    headers: TransportReply['headers'] = {},
  ): TransportReply => ({
    status,
    headers,
    text: typeof body === 'string' ? body : JSON.stringify(body),
  });
  beforeEach(() => {
    clock = new FakeClock();
    sent = [];
    seen = [];
    answer = () => Promise.resolve(reply(200, { ok: true }));
    client = new ProviderClient(
      {
        driver: 'test-volume',
        provider: 'Test Cloud',
        endpoint: 'http://cloud.test:9000',
        requestTimeoutMs: 30_000,
        rates: { perHour: 5_000, burstShare: 0.03 },
        errors: rows,
        refusal: (status, body) => {
          const { id = '', message = '' } = (body ?? {}) as { id?: string; message?: string };
          return { status, code: id, message };
        },
        headers: {
          requestId: ['x-request-id'],
          limit: 'ratelimit-limit',
          remaining: 'ratelimit-remaining',
          reset: 'ratelimit-reset',
        },
      },
      {
        clock,
        transport: (request) => {
          sent.push(request);
          return answer(request);
        },
        durations: {
          observe: ({ driver, call, error }, seconds) =>
            seen.push(`${driver} ${call} ${error} ${seconds}`),
        },
      },
    );
  });
  const call = (over: Partial<ProviderCall> = {}): Promise<unknown> =>
    client.call({
      name: 'createVolume',
      method: 'POST',
      path: '/v2/volumes',
      body: { name: 'a' },
      token,
      about: 'uid-1',
      signal: new AbortController().signal,
      ...over,
    });
  const refused = async (promise: Promise<unknown>): Promise<DriverError> =>
    promise.then(
      () => expect.fail('no error'),
      (error: unknown) => error as DriverError,
    );

  it('sends the version, the body and the credential to the origin', async () => {
    expect(await call({ query: { name: 'a b' } })).to.deep.equal({ ok: true });
    const [request] = sent;
    expect(request?.url.href).to.equal('http://cloud.test:9000/v2/volumes?name=a+b');
    expect(request?.headers['authorization']).to.equal(`Bearer ${token}`);
    expect(request?.body).to.equal('{"name":"a"}');
  });

  it('ends a call at its deadline: a read is Unavailable, a change is Timeout', async () => {
    answer = () => new Promise(() => undefined);
    const read = refused(call({ method: 'GET' }));
    const change = refused(call());
    await clock.advance(30_000);
    expect((await read).kind).to.equal('Unavailable');
    expect((await change).kind).to.equal('Timeout');
    expect(sent.every(({ signal }) => signal.aborted)).to.equal(true);
    expect(clock.pending).to.equal(0);
  });

  it('ends a cancelled call at once', async () => {
    answer = () => new Promise(() => undefined);
    const abort = new AbortController();
    const waiting = refused(call({ signal: abort.signal }));
    abort.abort();
    expect((await waiting).kind).to.equal('Timeout');
  });

  it('distinguishes a request that was never sent from one without an answer', async () => {
    answer = () => Promise.reject(new TransportError('ECONNREFUSED', false));
    expect((await refused(call())).kind).to.equal('Unavailable');
    answer = () => Promise.reject(new TransportError('ECONNRESET', true));
    expect((await refused(call())).kind).to.equal('Timeout');
  });

  it('leaves a part of the budget to others in the requests of a background call alone', async () => {
    const background = new AbortController().signal;
    client.defer(background);
    for (let n = 0; n < 75; n += 1) await call();
    const error = await refused(call({ signal: background }));
    expect(error).to.include({ kind: 'Throttled' });
    expect(error.message).to.contain('other calls with this credential come first');
    expect(await call()).to.deep.equal({ ok: true });
  });

  it('treats HTML as no answer', async () => {
    answer = () => Promise.resolve(reply(200, '<html>gateway</html>'));
    expect((await refused(call())).kind).to.equal('Timeout');
    expect((await refused(call({ method: 'GET' }))).kind).to.equal('Unavailable');
    answer = () => Promise.resolve(reply(502, '<html>gateway</html>'));
    expect((await refused(call())).kind).to.equal('Unavailable');
  });

  it('gives a refusal the kind, remedy and limit of its row, and the id of the request', async () => {
    const body = { id: 'forbidden', message: 'capacity limit exceeded' };
    answer = () => Promise.resolve(reply(403, body, { 'x-request-id': 'req-9' }));
    const error = await refused(call());
    expect(error).to.include({ kind: 'QuotaExceeded', limit: 7, retryElsewhere: true });
    expect(error).to.include({ requestId: 'req-9', remedy: 'raise the limit' });
    expect(error.message).to.equal(
      'Test Cloud refused createVolume: capacity limit exceeded (HTTP 403, forbidden, request req-9); raise the limit',
    );
  });

  it('closes the budget after 429: by Retry-After, else the reset, else a minute', async () => {
    const limited = async (headers: TransportReply['headers']): Promise<number | undefined> => {
      answer = () => Promise.resolve(reply(429, { id: 'too_many_requests' }, headers));
      const error = await refused(call());
      const next = await refused(call());
      expect(next.message).to.contain('the request budget of this credential is spent');
      await clock.advance(3_600_000);
      return error.retryAfterMs;
    };
    expect(await limited({ 'retry-after': '7' })).to.equal(7_000);
    const reset = String(clock.now() / 1_000 + 90);
    expect(await limited({ 'ratelimit-reset': reset })).to.equal(90_000);
    expect(await limited({})).to.equal(60_000);
    expect(sent).to.have.length(3);
  });

  it('keeps the last 20 calls of a volume without bodies, and no credential', async () => {
    const body = { message: `token ${token} is bad` };
    answer = () => Promise.resolve(reply(401, body, { 'x-request-id': 'r' }));
    const error = await refused(call({ query: { leaked: token } }));
    expect(error.message).to.contain('token *** is bad');
    answer = () => Promise.resolve(reply(200, {}));
    for (let n = 0; n < 25; n += 1) await call({ method: 'GET' });
    const calls = client.journal.of('uid-1');
    expect(calls).to.have.length(20);
    expect(calls[0]).to.deep.equal({
      at: clock.now(),
      method: 'GET',
      path: '/v2/volumes',
      status: 200,
      durationMs: 0,
    });
    expect(JSON.stringify([calls, seen, error, error.stack])).not.to.contain(token);
    expect(client.credential(token)).not.to.contain(token);
  });

  it('measures each call by driver, call and error, and what is left of the budget', async () => {
    await call();
    answer = () => Promise.resolve(reply(404, {}));
    await refused(call({ name: 'readVolume', method: 'GET' }));
    expect(seen).to.deep.equal([
      'test-volume createVolume  0',
      'test-volume readVolume NotFound 0',
    ]);
    const [budget] = client.telemetry.budgets();
    expect(budget).to.include({ driver: 'test-volume', left: 148 });
  });

  it('a call that the rate delays answers Pending, and the age of a pending call is measured', async () => {
    const local = await builtinDrivers({
      localVolumeRoot: '/nowhere',
      hostPathAllowlist: [],
      allowCreateMissing: false,
    }).get('local');
    let provided: () => Promise<never> = () =>
      Promise.reject(new DriverError('Throttled', 'later', { retryAfterMs: 1_500 }));
    const driver = providerDriver({ ...local!, provision: () => provided() }, client);
    const request = { volume: { uid: 'u' } } as Parameters<typeof driver.provision>[0];
    expect(await driver.provision(request)).to.deep.equal({ type: 'pending', pollAfterMs: 1_500 });
    expect(client.telemetry.oldestPending()).to.deep.equal([]);
    provided = () => Promise.resolve({ type: 'pending', pollAfterMs: 100 } as never);
    await driver.provision(request);
    await clock.advance(4_000);
    expect(client.telemetry.oldestPending()).to.deep.equal([{ driver: 'local', seconds: 4 }]);
    provided = () => Promise.reject(new DriverError('NotFound', 'gone'));
    expect((await refused(driver.provision(request))).kind).to.equal('NotFound');
    expect(client.telemetry.oldestPending()).to.deep.equal([]);
  });

  it('a background observation leaves a part of the budget to the next calls of its caller', async () => {
    const observe = async ({ signal }: { readonly signal: AbortSignal }) => {
      await call({ method: 'GET', signal });
      return { handle: 'h', sizeBytes: 1n };
    };
    const driver = providerDriver({ observe } as unknown as Driver, client);
    const { signal } = new AbortController();
    const request = { volume: { uid: 'u' }, signal, handle: 'h' };
    const observed = (isBackground: boolean) =>
      driver.observe({ ...request, isBackground } as Parameters<Driver['observe']>[0]);
    for (let n = 0; n < 75; n += 1) await call();
    expect((await refused(observed(true))).kind).to.equal('Throttled');
    expect(await observed(false)).to.include({ handle: 'h' });
    expect(await call({ signal })).to.deep.equal({ ok: true });
  });
});
