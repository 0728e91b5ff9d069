import { gunzipSync } from 'node:zlib';
import { request } from 'node:http';
import { expect } from 'chai';
import { TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';
const origin = 'https://console.example.com';

interface Raw {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

describe('the semantics of REST', () => {
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start({ environment: { KEDGE_SERVER_CORS_ORIGINS: origin } });
  });
  after(() => daemon.dispose());

  /** The answer as on the wire, not decompressed. */
  const raw = (
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body?: object,
  ): Promise<Raw> =>
    new Promise((resolve, reject) => {
      const [host = '', port = ''] = daemon.restAddress.split(':');
      const text = body === undefined ? undefined : JSON.stringify(body);
      const call = request(
        {
          host,
          port,
          method,
          path,
          headers: {
            authorization: `Bearer ${daemon.token}`,
            ...(text === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(chunks),
            }),
          );
        },
      );
      call.on('error', reject);
      call.end(text);
    });
  const configmap = (name: string, data: object = {}) =>
    raw('POST', `${base}/configmaps`, {}, { name, data });
  const json = ({ body }: Raw) => JSON.parse(body.toString()) as Record<string, unknown>;

  it('objects have an entity tag; If-None-Match answers 304, If-Match guards PUT and DELETE', async () => {
    const made = await configmap('tagged');
    const tag = String(made.headers.etag);
    const path = `${base}/configmaps/tagged`;
    expect(tag).to.equal(
      `"${(json(made).metadata as { resourceVersion: string }).resourceVersion}"`,
    );
    expect((await raw('GET', path)).headers.etag).to.equal(tag);
    const known = await raw('GET', path, { 'if-none-match': `"1", ${tag}` });
    expect([known.status, known.body.length]).to.deep.equal([304, 0]);
    expect((await raw('GET', path, { 'if-none-match': '"1"' })).status).to.equal(200);
    const body = { name: 'tagged', data: { a: '1' } };
    const put = await raw('PUT', path, { 'if-match': tag }, body);
    expect(put.status).to.equal(200);
    const stale = await raw('PUT', path, { 'if-match': tag }, { ...body, data: { a: '2' } });
    expect([stale.status, json(stale).reason]).to.deep.equal([409, 'Conflict']);
    const gone = await raw('DELETE', path, { 'if-match': tag });
    expect([gone.status, json(gone).reason]).to.deep.equal([409, 'Conflict']);
    const old = await raw('DELETE', `${path}?resourceVersion=1`);
    expect(old.status).to.equal(409);
    for (const bad of ['42', 'W/"42"', '"1", "2"'])
      expect((await raw('PUT', path, { 'if-match': bad }, body)).status, bad).to.equal(400);
    const both = await raw(
      'PUT',
      path,
      { 'if-match': tag },
      {
        ...body,
        metadata: { resourceVersion: '1' },
      },
    );
    expect(both.status).to.equal(400);
    const unused = await raw('POST', `${base}/volumes/x:resize`, { 'if-match': tag }, {});
    expect([unused.status, String(json(unused).message)]).to.satisfy(
      ([status, message]: [number, string]) => status === 400 && message.includes('If-Match'),
    );
    expect((await raw('DELETE', path, { 'if-match': String(put.headers.etag) })).status).to.equal(
      200,
    );
  });

  it('lists are compressed for clients that accept gzip, and the same for others', async () => {
    for (let n = 0; n < 80; n += 1) await configmap(`packed-${n}`, { text: 'x'.repeat(500) });
    const path = `${base}/configmaps`;
    const plain = await raw('GET', path, { 'accept-encoding': 'identity' });
    const packed = await raw('GET', path, { 'accept-encoding': 'br;q=1, gzip;q=0.5' });
    expect(plain.headers['content-encoding']).to.equal(undefined);
    expect(packed.headers['content-encoding']).to.equal('gzip');
    expect(packed.headers.vary).to.contain('accept-encoding');
    expect(packed.body.length).to.be.lessThan(plain.body.length / 5);
    expect(JSON.parse(gunzipSync(packed.body).toString())).to.deep.equal(json(plain));
    const refused = await raw('GET', path, { 'accept-encoding': 'gzip;q=0' });
    expect(refused.headers['content-encoding']).to.equal(undefined);
    const small = await raw('GET', `${path}?limit=2`, { 'accept-encoding': 'gzip' });
    expect((json(small).items as unknown[]).length).to.equal(2);
  });

  it('an unknown path is 404, another method is 405 with Allow; both have the error body', async () => {
    const none = await raw('GET', `${base}/nothing`);
    expect([none.status, json(none).reason]).to.deep.equal([404, 'RouteNotFound']);
    const other = await raw('PATCH', `${base}/configmaps/x`);
    expect([other.status, json(other).reason]).to.deep.equal([405, 'MethodNotAllowed']);
    expect(other.headers.allow).to.equal('DELETE, GET, PUT');
    expect((await raw('DELETE', `${base}/volumes/x:resize`)).headers.allow).to.equal('POST');
    expect((await raw('GET', `${base}/configmaps/`)).status).to.equal(200);
    expect((await raw('GET', '/v1/nodes/')).status).to.equal(200);
    expect(json(none)).to.have.all.keys(
      'code',
      'status',
      'message',
      'reason',
      'details',
      'requestId',
    );
    expect(none.headers['x-request-id']).to.equal(json(none).requestId);
  });

  it('errors come as problem+json on request (RFC 9457)', async () => {
    const answer = await raw('GET', `${base}/volumes/none`, { accept: 'application/problem+json' });
    expect(answer.headers['content-type']).to.contain('application/problem+json');
    expect(json(answer)).to.include({
      status: 404,
      title: 'NotFound',
      type: 'about:blank',
      code: 5,
    });
    expect(json(answer).detail).to.contain('none');
  });

  it('only the configured origin is allowed by CORS', async () => {
    const allowed = await raw('GET', '/v1/nodes', { origin });
    expect(allowed.headers['access-control-allow-origin']).to.equal(origin);
    const foreign = await raw('GET', '/v1/nodes', { origin: 'https://evil.example.com' });
    expect(foreign.headers['access-control-allow-origin']).to.equal(undefined);
    const ask = (from: string) =>
      raw('OPTIONS', `${base}/volumes`, {
        origin: from,
        authorization: '',
        'access-control-request-method': 'POST',
      });
    const preflight = await ask(origin);
    expect(preflight.status).to.equal(204);
    expect(preflight.headers['access-control-allow-methods']).to.equal('GET, POST');
    expect((await ask('https://evil.example.com')).status).to.equal(401);
  });

  it('field selectors compare shown values, also in watches; masked values can not be guessed', async () => {
    await raw('POST', `${base}/secrets`, {}, { name: 'guess', data: { k: 'red' } });
    const count = async (kind: string, selector: string): Promise<number> =>
      (await daemon.list(`${base}/${kind}?fieldSelector=${encodeURIComponent(selector)}`)).length;
    expect(await count('configmaps', 'name=packed-7')).to.equal(1);
    expect(await count('configmaps', 'name!=packed-7,version=1')).to.equal(79);
    expect(await count('secrets', 'data.k=red')).to.equal(0);
    expect((await raw('GET', `${base}/secrets?fieldSelector=k~v`)).status).to.equal(400);
    const path = `${base}/configmaps?watch=true&fieldSelector=name%3Dpacked-3`;
    const seen = await daemon.events(path, undefined, (e) => e.some((x) => x.event === 'BOOKMARK'));
    expect(seen.filter((e) => e.event === 'ADDED').length).to.equal(1);
  });

  it('numbers of 64 bits are strings, enums names, unknown fields named; names may be long', async () => {
    const volume = await daemon.ok('POST', `${base}/volumes`, {
      name: 'exact',
      size: 1073741824,
      accessMode: 'ReadWriteOnce',
      storageClassName: 'local',
    });
    expect(volume).to.include({ size: '1073741824', status: 'Pending', attempts: 0 });
    const unknown = await daemon.rest('POST', `${base}/configmaps`, { name: 'x', colour: 'red' });
    expect(String(unknown.body.message)).to.contain('colour: is not a field');
    const long = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}`;
    const event = {
      name: long,
      regarding: { kind: 'Volume', name: 'exact' },
      type: 'Normal',
      reason: 'Noted',
    };
    await daemon.ok('POST', `${base}/events`, event);
    expect((await daemon.ok('GET', `${base}/events/${long}`)).count).to.equal(1);
    const bad = await daemon.rest('POST', `${base}/events`, {
      ...event,
      name: 'e',
      reason: 'no word',
    });
    expect(bad.status).to.equal(400);
  });

  it('registries mask credentials, keep them in a masked write, and validate references', async () => {
    const registry = {
      name: 'hub',
      registry: 'registry.example.com:5000',
      auth: { type: 'basic', username: 'me', password: 'hunter2' },
    };
    const made = await daemon.ok('POST', '/v1/admin/registries', registry);
    expect(JSON.stringify(made)).to.not.contain('hunter2');
    const auth = (o: Record<string, unknown>) => o.auth as Record<string, string>;
    expect(auth(made).password).to.equal('********');
    const again = await daemon.ok('PUT', '/v1/admin/registries/hub', { ...made, metadata: {} });
    expect(auth(again).password).to.equal('********');
    const refused = async (more: object): Promise<string> => {
      const body = { name: 'bad', registry: 'r.example.com', auth: more };
      const answer = await daemon.rest('POST', '/v1/admin/registries', body);
      expect(answer.status).to.equal(400);
      return String(answer.body.message);
    };
    expect(await refused({ type: 'basic', username: 'me' })).to.contain(
      'auth.password: is required',
    );
    expect(await refused({ type: 'token', token: 't', username: 'x' })).to.contain('auth.username');
    expect(await refused({ type: 'token', token: 'secret:short/key' })).to.contain(
      'has no namespace',
    );
    await daemon.ok('POST', '/v1/admin/registries', {
      name: 'referred',
      registry: '*.example.com',
      auth: { type: 'token', token: 'secret:pull.default.svc/token' },
    });
  });
});
