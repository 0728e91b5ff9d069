import { expect } from 'chai';
import { StatusError } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import { type KedgeClient, kedgeClient } from '@kedge/api/client';
import { TestDaemon } from '../daemon.js';

const cursorForm = /^\d+\.[0-9a-f-]{36}$/;
const base = '/v1/namespaces/default/configmaps';

/** The parts of a refusal that clients distinguish. */
type Verdict = string;

describe('cursors and page tokens of a running daemon', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  let root: KedgeClient;
  const clients: KedgeClient[] = [];

  before(async () => {
    daemon = await TestDaemon.start();
    root = clientOf(daemon.token);
    await daemon.ok('POST', '/v1/namespaces', { name: 'hidden' });
    for (const namespace of ['default', 'hidden'])
      for (const name of ['a', 'b', 'c'])
        await daemon.ok('POST', `/v1/namespaces/${namespace}/configmaps`, {
          name,
          data: { text: `${name} of ${namespace}` },
        });
  });
  after(async () => {
    for (const client of clients) client.close();
    await daemon.dispose();
  });

  function clientOf(token: string): KedgeClient {
    const client = kedgeClient({ server: daemon.grpcAddress, token });
    clients.push(client);
    return client;
  }

  async function user(name: string, namespaces: readonly string[]): Promise<string> {
    const rules = [{ resources: ['configmaps', 'secrets'], verbs: ['list', 'watch'], namespaces }];
    await daemon.ok('POST', '/v1/admin/policies', { name, rules });
    await daemon.ok('POST', '/v1/admin/users', { name, policies: [name] });
    return String((await daemon.ok('POST', '/v1/auth/tokens', { subject: name })).token);
  }

  async function overGrpc(work: Promise<unknown>): Promise<Verdict> {
    try {
      await work;
      return 'given';
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return `${error.code} ${error.reason}`;
    }
  }

  const statuses: Readonly<Record<number, string>> = {
    400: 'InvalidArgument',
    403: 'PermissionDenied',
    409: 'Aborted',
    410: 'OutOfRange',
  };

  async function overRest(
    method: string,
    path: string,
    {
      token = daemon.token,
      body,
      headers = {},
    }: {
      readonly token?: string;
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<Verdict> {
    const stop = new AbortController();
    const response = await fetch(`http://${daemon.restAddress}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: stop.signal,
    });
    if (response.status === 200) {
      stop.abort();
      return 'given';
    }
    const { reason } = (await response.json()) as { reason: string };
    return `${statuses[response.status] ?? response.status} ${reason}`;
  }

  /** Requests the next page of a token over both transports. @returns the outcome, on which they must agree */
  async function page(
    { token, ...request }: { readonly token: string } & JsonObject,
    method: 'ConfigmapService.List' | 'SecretService.List' = 'ConfigmapService.List',
  ): Promise<Verdict> {
    const { namespace, ...query } = request;
    const plural = method === 'SecretService.List' ? 'secrets' : 'configmaps';
    const text = new URLSearchParams(query as Record<string, string>).toString();
    const path = `/v1/namespaces/${String(namespace)}/${plural}?${text}`;
    const [grpc, rest] = await Promise.all([
      overGrpc(clientOf(token).api.call(method, request)),
      overRest('GET', path, { token }),
    ]);
    expect(rest).to.equal(grpc);
    return grpc;
  }

  const begin = async (request: JsonObject, client = root): Promise<string> => {
    const answer = await client.api.call('ConfigmapService.List', { ...request, limit: 1 });
    expect(answer.nextPageToken).to.not.equal('');
    return String(answer.nextPageToken);
  };

  it('a page token gives no access to a namespace that its bearer may not list', async () => {
    const token = await user('reader', ['default']);
    const reader = clientOf(token);
    const wrong = 'InvalidArgument ValidationFailed';
    const refused = 'PermissionDenied PermissionDenied';
    for (const namespace of ['hidden', '-']) {
      const pageToken = await begin({ namespace });
      expect(await page({ token, namespace: 'default', pageToken })).to.equal(wrong);
      expect(await page({ token, namespace, pageToken })).to.equal(refused);
      // It does not open another list either, for a caller who may read both.
      expect(await page({ token: daemon.token, namespace: 'default', pageToken })).to.equal(wrong);
      expect(await page({ token: daemon.token, namespace, pageToken })).to.equal('given');
    }
    const own = await begin({ namespace: 'default' }, reader);
    expect(await page({ token, namespace: 'default', pageToken: own })).to.equal('given');
    expect(await page({ token, namespace: 'hidden', pageToken: own })).to.equal(refused);
    expect(await page({ token, namespace: '-', pageToken: own })).to.equal(refused);
  });

  it("a page token is its caller's, and of its kind and selectors", async () => {
    const token = await user('everywhere', ['*']);
    const wrong = 'InvalidArgument ValidationFailed';
    const pageToken = await begin({ namespace: 'hidden' });
    expect(await page({ token, namespace: 'hidden', pageToken })).to.equal(wrong);
    const mine = { token: daemon.token, namespace: 'hidden', pageToken };
    expect(await page(mine, 'SecretService.List')).to.equal(wrong);
    expect(await page({ ...mine, labelSelector: 'a=b' })).to.equal(wrong);
    expect(await page({ ...mine, fieldSelector: 'name=c' })).to.equal(wrong);
    expect(await page({ ...mine, pageToken: 'nonsense' })).to.equal(wrong);
    expect(await page(mine)).to.equal('given');
  });

  it('rights are checked at each page', async () => {
    const token = await user('leaver', ['default']);
    const pageToken = await begin({ namespace: 'default' }, clientOf(token));
    expect(await page({ token, namespace: 'default', pageToken })).to.equal('given');
    await daemon.ok('POST', '/v1/admin/users/leaver:detachPolicy', { policy: 'leaver' });
    expect(await page({ token, namespace: 'default', pageToken })).to.equal(
      'PermissionDenied PermissionDenied',
    );
  });

  it('a later user of the same name can not use the page tokens of a deleted user', async () => {
    const token = await user('recycled', ['default']);
    const pageToken = await begin({ namespace: 'default' }, clientOf(token));
    await daemon.ok('DELETE', '/v1/admin/users/recycled');
    await daemon.ok('POST', '/v1/admin/users', { name: 'recycled', policies: ['recycled'] });
    const made = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'recycled' });
    const other = String(made.token);
    expect(await page({ token: other, namespace: 'default', pageToken })).to.equal(
      'InvalidArgument ValidationFailed',
    );
  });

  it("unfinished lists of one caller do not expire another's", async () => {
    const token = await user('greedy', ['default']);
    const greedy = clientOf(token);
    const pageToken = await begin({ namespace: 'default' });
    const first = await begin({ namespace: 'default' }, greedy);
    for (let n = 0; n < 100; n += 1) await begin({ namespace: 'default' }, greedy);
    expect(await page({ token, namespace: 'default', pageToken: first })).to.equal(
      'OutOfRange PageTokenExpired',
    );
    expect(await page({ token: daemon.token, namespace: 'default', pageToken })).to.equal('given');
  });

  it("every position of the API names its store, and an object's version is a decimal", async () => {
    const list = await daemon.ok('GET', base);
    const { resourceVersion } = list as { resourceVersion: string };
    expect(resourceVersion).to.match(cursorForm);
    const storeId = resourceVersion.split('.')[1];
    const paged = await daemon.ok('GET', `${base}?limit=1`);
    expect(paged.resourceVersion).to.equal(resourceVersion);
    const objects = [{ kind: 'Configmap', object: { name: 'cast', data: { n: '1' } } }];
    for (const dryRun of [true, false]) {
      const cast = await daemon.ok('POST', '/v1/cast', { objects, dryRun });
      expect(cast.resourceVersion).to.match(cursorForm).and.contain(storeId);
    }
    const made = await daemon.ok('GET', `${base}/cast`);
    expect((made.metadata as JsonObject).resourceVersion).to.match(/^\d+$/);
    const events = await daemon.events(`${base}?watch=true`, undefined, (seen) =>
      seen.some(({ event }) => event === 'BOOKMARK'),
    );
    const bookmark = events.at(-1);
    expect(bookmark?.id).to.match(cursorForm).and.contain(storeId);
    expect(bookmark?.data.resourceVersion).to.equal(bookmark?.id);
    const live = daemon.events(`${base}?watch=true`, bookmark?.id, (seen) => seen.length > 0);
    await daemon.ok('DELETE', `${base}/cast`);
    const [event] = await live;
    const { metadata } = event?.data.object as { metadata: { resourceVersion: string } };
    expect(event?.id).to.equal(`${metadata.resourceVersion}.${storeId}`);
    const stop = new AbortController();
    const watch = root.configmaps.watch({
      namespace: 'default',
      cursor: resourceVersion,
      signal: stop.signal,
    });
    for await (const { cursor, revision } of watch) {
      expect(cursor).to.equal(`${revision}.${storeId}`);
      break;
    }
    stop.abort();
  });

  it('a watch from a position of another store, in the future or of an invalid form is refused by name', async () => {
    const { resourceVersion } = (await daemon.ok('GET', base)) as { resourceVersion: string };
    const [revision, storeId] = resourceVersion.split('.');
    // A later write, so that a watch from the position has an event.
    await daemon.ok('POST', base, { name: 'later', data: {} });
    const other = '00000000-0000-4000-8000-000000000000';
    const watch = async (text: string, header = false): Promise<Verdict> => {
      const query = header ? '' : `&resourceVersion=${encodeURIComponent(text)}`;
      const headers = header ? { 'last-event-id': text } : {};
      return overRest('GET', `${base}?watch=true${query}`, { headers });
    };
    const stream = async (text: string): Promise<Verdict> => {
      const stop = new AbortController();
      const request = { namespace: 'default', resourceVersion: text };
      const answers = root.api.stream('ConfigmapService.Watch', request, stop.signal);
      const verdict = await overGrpc(answers[Symbol.asyncIterator]().next());
      stop.abort();
      return verdict;
    };
    for (const [text, wanted] of [
      [resourceVersion, 'given'],
      [revision, 'given'],
      [`${revision}.${other}`, 'OutOfRange OtherStore'],
      [`1.${other}`, 'OutOfRange OtherStore'],
      [`99999999.${storeId}`, 'OutOfRange Ahead'],
      ['99999999', 'OutOfRange Ahead'],
      ['nonsense', 'InvalidArgument InvalidCursor'],
      [`${revision}.`, 'InvalidArgument InvalidCursor'],
      [`${revision}.${storeId}.1`, 'InvalidArgument InvalidCursor'],
    ] as const) {
      expect(await watch(String(text)), `REST ${text}`).to.equal(wanted);
      expect(await watch(String(text), true), `Last-Event-ID ${text}`).to.equal(wanted);
      expect(await stream(String(text)), `gRPC ${text}`).to.equal(wanted);
    }
  });

  it('a page token is not a cursor, and a cursor is not a page token', async () => {
    const { resourceVersion } = (await daemon.ok('GET', base)) as { resourceVersion: string };
    const pageToken = await begin({ namespace: 'default' });
    const mine = { token: daemon.token, namespace: 'default', pageToken: resourceVersion };
    expect(await page(mine)).to.equal('InvalidArgument ValidationFailed');
    expect(await overRest('GET', `${base}?watch=true&resourceVersion=${pageToken}`)).to.equal(
      'InvalidArgument InvalidCursor',
    );
  });

  it('a cursor in place of an object version is refused with that reason', async () => {
    const { resourceVersion } = (await daemon.ok('GET', base)) as { resourceVersion: string };
    const wrong = 'InvalidArgument ValidationFailed';
    const object = { name: 'a', data: { text: 'new' }, metadata: { resourceVersion } };
    const plain = { name: 'a', data: { text: 'new' } };
    const put = { body: object };
    expect(await overRest('PUT', `${base}/a`, put)).to.equal(wrong);
    const match = { body: plain, headers: { 'if-match': `"${resourceVersion}"` } };
    expect(await overRest('PUT', `${base}/a`, match)).to.equal(wrong);
    const remove = `${base}/a?resourceVersion=${resourceVersion}`;
    expect(await overRest('DELETE', remove)).to.equal(wrong);
    const headers = { 'if-match': `"${resourceVersion}"` };
    expect(await overRest('DELETE', `${base}/a`, { headers })).to.equal(wrong);
    const cast = { objects: [{ kind: 'Configmap', object }] };
    expect(await overRest('POST', '/v1/cast', { body: cast })).to.equal(wrong);
    const key = { namespace: 'default', name: 'a' };
    const { call } = { call: root.api.call.bind(root.api) };
    expect(await overGrpc(call('ConfigmapService.Update', { ...key, configmap: object }))).to.equal(
      wrong,
    );
    expect(await overGrpc(call('ConfigmapService.Delete', { ...key, resourceVersion }))).to.equal(
      wrong,
    );
    const answer = await daemon.rest('PUT', `${base}/a`, object);
    expect(answer.body.message).to.contain('watch cursor').and.contain('metadata.resourceVersion');
    expect((await daemon.ok('GET', `${base}/a`)).data).to.deep.equal({ text: 'a of default' });
  });

  it('after a restart page tokens are expired, and resumed watches continue', async () => {
    const pageToken = await begin({ namespace: 'default' });
    const { resourceVersion } = (await daemon.ok('GET', base)) as { resourceVersion: string };
    await daemon.crash();
    const mine = { token: daemon.token, namespace: 'default', pageToken };
    expect(await page(mine)).to.equal('OutOfRange PageTokenExpired');
    const live = daemon.events(
      `${base}?watch=true&resourceVersion=${resourceVersion}`,
      undefined,
      (seen) => seen.length > 0,
    );
    await daemon.ok('POST', base, { name: 'after', data: {} });
    expect((await live)[0]?.event).to.equal('ADDED');
  });
});
