import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { finish, TestDaemon, workload } from '../daemon.js';

const base = '/v1/namespaces/default';
const all = ['*'];

describe('rights in a running daemon', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());

  const token = async (subject: string, more: object = {}): Promise<string> =>
    String((await daemon.ok('POST', '/v1/auth/tokens', { subject, ...more })).token);
  const user = async (name: string, policies: readonly string[], more: object = {}) => {
    await daemon.ok('POST', '/v1/admin/users', { name, policies, ...more });
    return token(name);
  };

  it('a caller can not grant rights that it lacks: by users, policies, tokens, attached policies', async () => {
    const rules = [
      { resources: ['users', 'policies', 'tokens'], verbs: ['*'], namespaces: all },
      { resources: ['volumes'], verbs: ['get'], namespaces: ['dev'] },
    ];
    await daemon.ok('POST', '/v1/admin/policies', { name: 'clerk', rules });
    const clerk = await user('clerk', ['clerk']);
    await user('boss', ['root']);
    const attempt = async (method: string, path: string, body: object): Promise<string> => {
      const answer = await daemon.rest(method, path, body, clerk);
      return `${answer.status} ${String(answer.body.message)}`;
    };
    const refused = /^400 .*grants .* a right that you do not have/;
    expect(await attempt('POST', '/v1/admin/users', { name: 'mole', policies: ['root'] })).to.match(
      refused,
    );
    const wide = (verbs: readonly string[], namespaces: readonly string[]) =>
      attempt('POST', '/v1/admin/policies', {
        name: `p${verbs.length}${namespaces.length}${namespaces[0] === '*' ? 's' : ''}`,
        rules: [{ resources: ['volumes'], verbs, namespaces }],
      });
    expect(await wide(['get', 'delete'], ['dev'])).to.match(refused);
    expect(await wide(['get'], ['*'])).to.match(refused);
    expect(await wide(['get'], ['dev'])).to.match(/^200/);
    expect(await attempt('POST', '/v1/auth/tokens', { subject: 'boss' })).to.match(refused);
    expect(await attempt('POST', '/v1/auth/tokens', { subject: 'clerk' })).to.match(/^200/);
    const attach = '/v1/admin/users/clerk:attachPolicy';
    expect(await attempt('POST', attach, { policy: 'admin' })).to.match(refused);
    const clerkRules = { name: 'clerk', rules: [{ resources: all, verbs: all, namespaces: all }] };
    expect(await attempt('PUT', '/v1/admin/policies/clerk', clerkRules)).to.match(refused);
    const cast = { objects: [{ kind: 'Token', object: { name: 'x', subject: 'boss' } }] };
    expect((await daemon.rest('POST', '/v1/cast', cast)).body.message).to.contain('token create');
  });

  it('a recreated user does not own the tokens of the deleted one', async () => {
    const old = await user('phoenix', ['readonly']);
    const ask = async (text: string): Promise<string> => {
      const { status, body } = await daemon.rest('GET', `${base}/volumes`, undefined, text);
      return status === 200 ? '200' : `${status} ${String(body.reason)}`;
    };
    expect(await ask(old)).to.match(/^200/);
    await daemon.ok('DELETE', '/v1/admin/users/phoenix');
    const young = await user('phoenix', ['admin']);
    expect(await ask(old)).to.equal('401 InvalidToken');
    expect(await ask(young)).to.match(/^200/);
  });

  it('the account of a deleted node has no rights on a later node of the same name', async () => {
    await daemon.ok('POST', '/v1/nodes', { name: 'far' });
    const account = { kind: 'serviceAccount', node: 'far' };
    const old = await user('agent-far', ['node'], account);
    const ask = async (text: string): Promise<string> => {
      const { status, body } = await daemon.rest('GET', '/v1/nodes/far', undefined, text);
      return status === 200 ? '200' : `${status} ${String(body.reason)}`;
    };
    expect(await ask(old)).to.match(/^200/);
    await daemon.ok('DELETE', '/v1/nodes/far');
    expect(await ask(old)).to.equal('401 NodeGone');
    await daemon.ok('POST', '/v1/nodes', { name: 'far' });
    expect(await ask(old)).to.equal('401 NodeGone');
    // Another policy of the account does not restore the token.
    await daemon.ok('POST', '/v1/admin/users/agent-far:attachPolicy', { policy: 'readonly' });
    expect(await ask(old)).to.equal('401 NodeGone');
    expect(await ask(await user('agent-far-2', ['node'], account))).to.match(/^200/);
    await daemon.ok('DELETE', '/v1/nodes/far');
  });

  it('a policy and its user can be created by one cast', async () => {
    const rules = [{ resources: ['volumes'], verbs: ['list'], namespaces: ['default'] }];
    const objects = [
      { kind: 'User', object: { name: 'newcomer', policies: ['newcomers'] } },
      { kind: 'Policy', object: { name: 'newcomers', rules } },
    ];
    await daemon.ok('POST', '/v1/cast', { objects });
    const text = await token('newcomer');
    expect((await daemon.rest('GET', `${base}/volumes`, undefined, text)).status).to.equal(200);
  });

  it('policies are attached and detached one by one; one in use is not deleted; built-in ones stay', async () => {
    await daemon.ok('POST', '/v1/admin/users', { name: 'pat' });
    const path = '/v1/admin/users/pat';
    const changed = await daemon.ok('POST', `${path}:attachPolicy`, { policy: 'readonly' });
    expect(changed.policies).to.deep.equal(['readonly']);
    await daemon.ok('POST', `${path}:attachPolicy`, { policy: 'readonly' });
    expect((await daemon.rest('POST', `${path}:attachPolicy`, { policy: 'none' })).status).to.equal(
      400,
    );
    const rules = [{ resources: ['volumes'], verbs: ['get'], namespaces: ['x'] }];
    await daemon.ok('POST', '/v1/admin/policies', { name: 'tiny', rules });
    await daemon.ok('POST', `${path}:attachPolicy`, { policy: 'tiny' });
    const held = await daemon.rest('DELETE', '/v1/admin/policies/tiny');
    expect([held.status, held.body.reason]).to.deep.equal([412, 'InUse']);
    expect(
      (await daemon.ok('POST', `${path}:detachPolicy`, { policy: 'tiny' })).policies,
    ).to.deep.equal(['readonly']);
    await daemon.ok('DELETE', '/v1/admin/policies/tiny');
    expect((await daemon.rest('DELETE', '/v1/admin/policies/root')).body.reason).to.equal(
      'BuiltIn',
    );
  });

  it('can-i answers for the caller, by verb, resource and namespace, and names the policy', async () => {
    const rules = [{ resources: ['volumes'], verbs: ['get', 'list'], namespaces: ['dev'] }];
    await daemon.ok('POST', '/v1/admin/policies', { name: 'devs', rules });
    const dev = await user('dev', ['devs']);
    const can = async (query: string) =>
      (await daemon.rest('GET', `/v1/auth/can-i?${query}`, undefined, dev)).body;
    expect(await can('verb=get&resource=volumes&namespace=dev')).to.deep.equal({
      allowed: true,
      policies: ['devs'],
    });
    expect((await can('verb=get&resource=volumes&namespace=prod')).allowed).to.equal(false);
    expect((await can('verb=list&resource=volumes&namespace=-')).allowed).to.equal(false);
    expect((await can('verb=get&resource=nodes')).allowed).to.equal(false);
    expect((await can('verb=get')).message).to.contain('resource: is required');
    const no = await daemon.cli('auth', 'can-i', 'get', 'volumes');
    expect([no.code, no.stdout]).to.deep.equal([0, 'yes\n']);
  });

  describe('an open stream ends with an error', () => {
    const watching = async (secret: string) => {
      const response = await fetch(`http://${daemon.restAddress}${base}/volumes?watch=true`, {
        headers: { authorization: `Bearer ${secret}` },
      });
      expect(response.status).to.equal(200);
      return response.text();
    };
    const ends = async (text: Promise<string>, reason: string): Promise<void> => {
      const last = (await text).trim().split('\n\n').at(-1) ?? '';
      expect(last).to.contain('event: ERROR').and.contain(`"reason":"${reason}"`);
    };

    it('when its token expires', async () => {
      await user('brief', ['readonly']);
      // Long enough for the stream to be open before.
      await ends(watching(await token('brief', { ttlSeconds: 6 })), 'TokenExpired');
    });

    it('when its token is revoked', async () => {
      const secret = await user('revoked', ['readonly']);
      const text = watching(secret);
      const listed = await daemon.list('/v1/auth/tokens?fieldSelector=subject%3Drevoked');
      await daemon.ok('DELETE', `/v1/auth/tokens/${String(listed[0]?.name)}`);
      await ends(text, 'InvalidToken');
    });

    it('when its user is deleted', async () => {
      const text = watching(await user('leaving', ['readonly']));
      await daemon.ok('DELETE', '/v1/admin/users/leaving');
      await ends(text, 'InvalidToken');
    });

    it('when its policy is detached or restricted', async () => {
      const rules = [{ resources: ['volumes'], verbs: ['watch'], namespaces: ['default'] }];
      await daemon.ok('POST', '/v1/admin/policies', { name: 'watchers', rules });
      const secret = await user('demoted', ['watchers']);
      const first = watching(secret);
      await daemon.ok('POST', '/v1/admin/users/demoted:detachPolicy', { policy: 'watchers' });
      await ends(first, 'PermissionDenied');
      await daemon.ok('POST', '/v1/admin/users/demoted:attachPolicy', { policy: 'watchers' });
      const second = watching(secret);
      const less = [{ resources: ['volumes'], verbs: ['get'], namespaces: ['default'] }];
      await daemon.ok('PUT', '/v1/admin/policies/watchers', { name: 'watchers', rules: less });
      await ends(second, 'PermissionDenied');
    });
  });

  it('a token creates none with a longer validity, and its revocation revokes those that it created', async () => {
    await user('renter', ['root']);
    await user('guest', ['readonly']);
    const maker = await daemon.ok('POST', '/v1/auth/tokens', {
      subject: 'renter',
      ttlSeconds: 600,
    });
    const make = async (ttlSeconds: number) => {
      const asked = { subject: 'guest', ttlSeconds };
      return (await daemon.rest('POST', '/v1/auth/tokens', asked, String(maker.token))).body;
    };
    const lasting = await make(0);
    expect(lasting).to.include({ maker: maker.name, expiresAt: maker.expiresAt });
    expect(await make(1_000_000)).to.include({ expiresAt: maker.expiresAt });
    expect(Date.parse(String((await make(60)).expiresAt))).to.be.below(
      Date.parse(String(maker.expiresAt)),
    );
    const environment = { ...daemon.cliEnvironment, KEDGE_TOKEN: String(maker.token) };
    const command = ['cmd/bin/kedge.mjs', 'token', 'create', 'guest'];
    const result = await finish(process.execPath, command, environment);
    expect(result.stderr).to.contain(`valid until ${String(maker.expiresAt)}`);
    const statuses = async () =>
      Promise.all(
        [lasting.token, result.stdout.trim()].map(
          async (text) =>
            (await daemon.rest('GET', `${base}/volumes`, undefined, String(text))).status,
        ),
      );
    expect(await statuses()).to.deep.equal([200, 200]);
    const stream = await fetch(`http://${daemon.restAddress}${base}/volumes?watch=true`, {
      headers: { authorization: `Bearer ${String(lasting.token)}` },
    });
    await daemon.ok('DELETE', `/v1/auth/tokens/${String(maker.name)}`);
    expect(await stream.text()).to.contain('"reason":"InvalidToken"');
    expect(await statuses()).to.deep.equal([401, 401]);
  });

  it('a token for another user has at most the rights of its creator', async () => {
    await user('lender', ['root']);
    await user('borrower', ['readwrite']);
    const lender = await token('lender');
    const made = await daemon.rest('POST', '/v1/auth/tokens', { subject: 'borrower' }, lender);
    const create = async (name: string) =>
      daemon.rest('POST', `${base}/configmaps`, { name, data: {} }, String(made.body.token));
    expect((await create('lent-1')).status).to.equal(200);
    await daemon.ok('POST', '/v1/admin/users/lender:detachPolicy', { policy: 'root' });
    expect((await create('lent-2')).status).to.equal(403);
    await daemon.ok('POST', '/v1/admin/users/lender:attachPolicy', { policy: 'readonly' });
    expect((await create('lent-3')).status).to.equal(403);
    const read = await daemon.rest(
      'GET',
      `${base}/configmaps/lent-1`,
      undefined,
      String(made.body.token),
    );
    expect(read.status).to.equal(200);
  });

  it('the last use of a token is shown', async () => {
    await user('user-of-token', ['readonly']);
    const secret = await token('user-of-token', { description: 'used' });
    const used = async (): Promise<unknown> =>
      (await daemon.list('/v1/auth/tokens?fieldSelector=description%3Dused'))[0]?.lastUsedAt;
    expect(await used()).to.equal('');
    await daemon.rest('GET', '/v1/auth/whoami', undefined, secret);
    await eventually('the use', async () => (await used()) !== '');
  });

  it("an agent's token has access to its node, the objects bound to it, and their dependencies", async () => {
    const [node] = await daemon.list('/v1/nodes');
    const own = await user('agent-own', ['node'], {
      kind: 'serviceAccount',
      node: String(node?.name),
    });
    const other = await user('agent-other', ['node'], {
      kind: 'serviceAccount',
      node: 'elsewhere',
    });
    for (const name of ['used', 'mounted', 'unused'])
      await daemon.ok('POST', `${base}/secrets`, { name, data: { k: 'v' } });
    const { volume, service } = workload(daemon, 'bound', 'sleep 600');
    await daemon.ok('POST', `${base}/volumes`, volume);
    // On no node and not provisioned, since its parameters have no target.
    const nowhere = { hostPath: 'secret:none/path' };
    await daemon.ok('POST', `${base}/volumes`, { ...volume, name: 'foreign', parameters: nowhere });
    await daemon.ok('POST', `${base}/services`, {
      ...service,
      envFrom: [{ secret: 'used' }],
      secretMounts: [{ name: 'mounted', mountPath: '/srv/mounted' }],
    });
    await eventually('the instance', async () => {
      const { body } = await daemon.rest('GET', `${base}/instances/bound-0`);
      return body.status === 'Running';
    });
    const status = async (secret: string, path: string, method = 'GET', body?: object) =>
      (await daemon.rest(method, path, body, secret)).status;
    const nodePath = `/v1/nodes/${String(node?.name)}`;
    const mine = [
      nodePath,
      `${base}/instances/bound-0`,
      `${base}/volumes/bound`,
      `${base}/secrets/used?reveal=true`,
      `${base}/secrets/mounted?reveal=true`,
      `${base}/services/bound`,
    ];
    for (const path of mine) {
      expect(await status(own, path), `own ${path}`).to.equal(200);
      expect(await status(other, path), `other ${path}`).to.equal(403);
    }
    for (const path of [`${base}/secrets/unused?reveal=true`, `${base}/volumes/foreign`])
      expect(await status(own, path), path).to.equal(403);
    expect(await status(own, `${nodePath}/status`, 'PUT', { status: 'Ready' })).to.equal(200);
    expect(await status(other, `${nodePath}/status`, 'PUT', { status: 'Ready' })).to.equal(403);
    expect(await status(own, `${base}/volumes/bound`, 'DELETE')).to.equal(403);
    expect(await status(own, `${base}/secrets`)).to.equal(403);
    const listed = await daemon.rest('GET', `${base}/volumes`, undefined, own);
    expect((listed.body.items as { name: string }[]).map((v) => v.name)).to.deep.equal(['bound']);
    expect(
      (await daemon.rest('GET', `${base}/volumes`, undefined, other)).body.items,
    ).to.deep.equal([]);
    const cast = { objects: [{ kind: 'Node', object: { name: 'x' } }] };
    expect(await status(own, '/v1/cast', 'POST', cast)).to.equal(403);
    expect(await status(own, `${base}/volumes/bound:resize`, 'POST', { size: '2Gi' })).to.equal(
      403,
    );
  });

  it('the audit log has subject, action and result of each call, and never a secret', async () => {
    const sesame = 'open-sesame-4711';
    await daemon.ok('POST', `${base}/secrets`, { name: 'audited', data: { k: sesame } });
    await daemon.ok('GET', `${base}/secrets/audited?reveal=true`);
    await daemon.rest('DELETE', `${base}/secrets/audited`, undefined, await user('weak', []));
    await daemon.rest('GET', `${base}/secrets`, undefined, 'kedge_wrong');
    // A token in place of its id.
    await daemon.rest('DELETE', `/v1/auth/tokens/${daemon.token}`);
    const set = { objects: [{ kind: 'Configmap', object: { name: 'in-a-set' } }] };
    await daemon.ok('POST', '/v1/cast', set);
    const lines = await eventually('the records', async () => {
      const text = await readFile(join(daemon.data, 'audit.jsonl'), 'utf8');
      const found = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, string>);
      return found.some((l) => l.name === 'in-a-set') ? { text, found } : undefined;
    });
    const about = lines.found.filter((l) => l.name === 'audited' && l.resource === 'secrets');
    expect(about.map((l) => [l.subject, l.verb, l.code])).to.deep.equal([
      ['root', 'create', 'OK'],
      ['root', 'reveal', 'OK'],
      ['weak', 'delete', 'PermissionDenied'],
    ]);
    expect(lines.found.some((l) => l.code === 'Unauthenticated' && l.subject === '')).to.equal(
      true,
    );
    expect(lines.text).to.not.contain(sesame);
    expect(lines.text).to.not.contain(daemon.token);
    const cast = lines.found.find((l) => l.name === 'in-a-set');
    expect(cast).to.include({ verb: 'cast', resource: 'configmaps', namespace: 'default' });
    expect(cast).to.include({ subject: 'root', code: 'OK', operations: 1 });
    expect(about[0]).to.include({ method: 'SecretService.Create', namespace: 'default' });
  });
});
