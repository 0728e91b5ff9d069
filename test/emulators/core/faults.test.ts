import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { createEmulator, type RunningEmulator, startEmulator } from '../index.js';
import { ask, deliver } from './client.js';
import { eightFaults, type Fault, FaultScript } from './faults.js';

const create = { name: 'a', region: 'fra1', size_gigabytes: 1 };
const place = { instances: [{ name: 'here', place: 'fra1' }] };

describe('the script of faults', () => {
  const request = (method: string, path: string) =>
    ({ method, path, query: [], headers: {}, body: '' }) as const;
  const before: Fault = { type: 'before' };

  it('fails the requests that were named, and no other', () => {
    const script = new FaultScript();
    script.add({ on: 'POST /v2/volumes/*/actions', nth: 2, times: 2, fault: before });
    const seen = ['a', 'b', 'c', 'd'].map((id) =>
      script.take(request('POST', `/v2/volumes/${id}/actions`)),
    );
    expect(seen).to.deep.equal([undefined, before, before, undefined]);
    expect(script.take(request('GET', '/v2/volumes/a/actions'))).to.equal(undefined);
    expect(script.take(request('POST', '/v2/volumes/a/b/actions'))).to.equal(undefined);
    expect(script.left).to.equal(0);
  });

  it('counts the lines whose faults have not all happened', () => {
    const script = new FaultScript();
    script.add({ on: ({ body }) => body.includes('attach'), fault: before });
    expect(script.left).to.equal(1);
    script.take(request('POST', '/'));
    expect(script.left).to.equal(1);
  });

  it('refuses a matcher that is neither a method with a path nor an action', () => {
    const script = new FaultScript();
    script.add({ on: '/v2/volumes', fault: before });
    expect(() => script.take(request('GET', '/v2/volumes'))).to.throw('is not a method and a path');
  });
});

describe('a fault of an emulator', () => {
  /** Creates a volume with a fault. Returns whether it exists, and the reaction that its client sees. */
  const outcome = async (fault: Fault) => {
    const { emulator } = createEmulator({ provider: 'cloud1', ...place, clock: new FakeClock() });
    emulator.faults.add({ on: 'POST /v2/volumes', fault });
    const delivery = await deliver(emulator, { call: 'POST /v2/volumes', body: create });
    return { made: (await emulator.inventory()).length === 1, delivery, emulator };
  };

  for (const [name, made] of Object.entries({
    ...{ before: false, timeout: false, 429: false, '5xx': false },
    ...{ 'after success': true, 'lost reply': true },
    ...{ 'malformed body': true, 'never finishing': true },
  }))
    it(`"${name}" ${made ? 'comes after the provider executed the request' : 'prevents the execution of the request'}`, async () => {
      const fault = eightFaults[name as keyof typeof eightFaults];
      expect((await outcome(fault)).made).to.equal(made);
    });

  it('decides the reaction that the client sees', async () => {
    const seen = await Promise.all(
      Object.entries(eightFaults).map(async ([name, fault]) => {
        const { delivery } = await outcome(fault);
        const status = delivery.type === 'reply' ? ` ${delivery.reply.status}` : '';
        return [name, `${delivery.type}${status}`];
      }),
    );
    expect(Object.fromEntries(seen)).to.deep.equal({
      before: 'reset',
      'after success': 'reply 500',
      timeout: 'silence',
      'lost reply': 'reset',
      429: 'reply 429',
      '5xx': 'reply 503',
      'malformed body': 'reply 200',
      'never finishing': 'endless',
    });
  });

  it('that is a rate limit has Retry-After only if seconds are given', async () => {
    const headers = async (fault: Fault) => {
      const { delivery } = await outcome(fault);
      return delivery.type === 'reply' ? delivery.reply.headers : {};
    };
    expect(await headers({ type: 'rateLimited', retryAfterSeconds: 7 })).to.include({
      'retry-after': '7',
    });
    expect(await headers({ type: 'rateLimited' })).not.to.have.property('retry-after');
  });

  for (const [form, pattern] of [
    ['html', /^<html>/],
    ['cut', /^\{"volume":[^}]*$/],
    ['empty', /^$/],
  ] as const)
    it(`that is a malformed body may be ${form}`, async () => {
      const { delivery } = await outcome({ type: 'malformed', form });
      expect(delivery.type === 'reply' && delivery.reply.body).to.match(pattern);
    });

  it('holds an action that never finishes until it is ended by hand', async () => {
    const clock = new FakeClock();
    const { emulator } = createEmulator({ provider: 'cloud1', ...place, clock });
    const { body } = await ask(emulator, { call: 'POST /v2/volumes', body: create });
    const { id } = body['volume'] as { id: string };
    emulator.faults.add({ on: 'POST /v2/volumes/*/actions', fault: { type: 'neverFinish' } });
    const attach = { type: 'attach', droplet_id: 3_164_444 };
    const call = { call: `POST /v2/volumes/${id}/actions`, body: attach };
    expect((await ask(emulator, call)).status).to.equal(202);
    await clock.advance(86_400_000);
    expect(await emulator.inventory()).to.have.length(1);
    expect((await ask(emulator, call)).body['message']).to.contain('pending event');
    await emulator.finishActions();
    expect(await emulator.inventory()).to.include(`attached ${id} to here`);
  });

  it('fails an action without its effect', async () => {
    const clock = new FakeClock();
    const { emulator } = createEmulator({ provider: 'cloud1', ...place, clock });
    const { body } = await ask(emulator, { call: 'POST /v2/volumes', body: create });
    const { id } = body['volume'] as { id: string };
    const fault: Fault = { type: 'actionFails', code: 'x', message: 'no' };
    emulator.faults.add({ on: 'POST /v2/volumes/*/actions', fault });
    const attach = { type: 'attach', droplet_id: 3_164_444 };
    await ask(emulator, { call: `POST /v2/volumes/${id}/actions`, body: attach });
    await clock.advance(1_000);
    const [action] = emulator.actions;
    const polled = await ask(emulator, { call: `GET /v2/actions/${action!.id}` });
    expect(polled.body['action']).to.include({ status: 'errored' });
    expect(await emulator.inventory()).to.have.length(1);
  });

  it('is in the log, and secrets are not', async () => {
    const { emulator } = await outcome(eightFaults['lost reply']);
    expect(emulator.requests).to.have.length(1);
    expect(emulator.requests[0]).to.include({ fault: 'lostReply', token: 'test' });
    expect(emulator.requests[0]).not.to.have.property('status');
    expect(JSON.stringify(emulator.requests)).not.to.contain('test-token');
  });
});

describe('an emulator over HTTP', () => {
  let running: RunningEmulator;
  const post = (signal?: AbortSignal) =>
    fetch(`${running.endpoint}/v2/volumes`, {
      method: 'POST',
      headers: { authorization: 'Bearer test-token', 'content-type': 'application/json' },
      body: JSON.stringify(create),
      ...(signal ? { signal } : {}),
    });

  beforeEach(async () => {
    running = await startEmulator({ provider: 'cloud1' });
  });
  afterEach(() => running.close());

  const failure = (call: Promise<unknown>): Promise<Error> =>
    call.then(
      () => expect.fail('it was answered'),
      (error: Error) => error,
    );

  it('answers', async () => {
    const response = await post();
    expect(response.status).to.equal(201);
    expect(response.headers.get('ratelimit-remaining')).to.equal('4999');
    expect(response.headers.get('x-request-id')).to.equal('emulated-000001');
    expect(await response.json()).to.have.property('volume');
  });

  it('resets the connection, sends nothing, or never ends the answer, as the script orders', async () => {
    running.faults.add({ on: 'POST /v2/volumes', fault: eightFaults.before });
    expect(String((await failure(post())).cause)).to.contain('ECONNRESET');
    running.faults.clear();
    running.faults.add({ on: 'POST /v2/volumes', fault: eightFaults.timeout });
    expect((await failure(post(AbortSignal.timeout(100)))).name).to.equal('TimeoutError');
    running.faults.clear();
    running.faults.add({ on: 'POST /v2/volumes', fault: eightFaults['never finishing'] });
    const begun = await post(AbortSignal.timeout(500));
    expect(begun.status).to.equal(201);
    expect((await failure(begun.text())).name).to.equal('TimeoutError');
  });

  it('is closed while requests wait', async () => {
    running.faults.add({ on: 'POST /v2/volumes', fault: eightFaults.timeout });
    const waiting = failure(post());
    while (running.requests.length === 0) await new Promise(setImmediate);
    await running.close();
    expect((await waiting).message).to.equal('fetch failed');
  });
});
