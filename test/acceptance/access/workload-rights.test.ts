import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../daemon.js';

const path = '/v1/namespaces/default';

describe('user and capabilities of a service in a running daemon', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());

  const service = (name: string, more: object = {}): object => ({
    name,
    runtime: 'process',
    command: ['/bin/sleep', '600'],
    terminationGracePeriodSeconds: 1,
    minReadySeconds: 0,
    ...more,
  });
  /** The instance once it runs as this user. */
  const running = (name: string, user: string | undefined) =>
    eventually(`${name} Running`, async () => {
      const { body } = await daemon.rest('GET', `${path}/instances/${name}-0`);
      const template = (body.template ?? {}) as { readonly user?: string };
      return body.status === 'Running' && (template.user || undefined) === user ? body : undefined;
    });
  const idIn = async (name: string): Promise<string> =>
    (await daemon.cli('exec', `${name}-0`, '--', 'id')).stdout.trim();

  it('change the template: instances are created again, and commands of exec follow', async function () {
    if (process.getuid?.() !== 0) this.skip();
    await daemon.ok('POST', `${path}/services`, service('owned'));
    await running('owned', undefined);
    expect(await idIn('owned')).to.match(/^uid=0/);
    const change = { user: 1234, capabilities: ['CAP_NET_BIND_SERVICE'] };
    const put = await daemon.ok('PUT', `${path}/services/owned`, service('owned', change));
    expect([put.user, put.capabilities]).to.deep.equal(['1234', ['net_bind_service']]);
    const first = await running('owned', '1234');
    expect(await idIn('owned')).to.match(/^uid=1234 gid=1234 groups=1234$/);
    await daemon.ok('PUT', `${path}/services/owned`, service('owned', { ...change, scale: 1 }));
    await daemon.ok('PUT', `${path}/services/owned`, service('owned', { user: '1234:0' }));
    const second = await running('owned', '1234:0');
    const uidOf = (body: Record<string, unknown>) => (body.metadata as { uid: string }).uid;
    expect(uidOf(second)).not.to.equal(uidOf(first));
    expect(await idIn('owned')).to.match(/^uid=1234 gid=0\(root\) groups=0\(root\)$/);
  });

  it('a user that does not exist on the node is the reason of a Failed instance', async () => {
    await daemon.ok('POST', `${path}/services`, service('strange', { user: 'kedge-nobody' }));
    const failed = await eventually('the failure', async () => {
      const { body } = await daemon.rest('GET', `${path}/instances/strange-0`);
      return body.status === 'Failed' ? body : undefined;
    });
    expect(failed.failureMessage).to.match(
      /kedge-nobody (does not exist on the node of the instance|can't be used)/,
    );
  });

  it('a capability beyond the default needs the verb elevate; an unchanged template does not', async () => {
    await daemon.ok('POST', '/v1/admin/users', { name: 'dev', policies: ['readwrite'] });
    const made = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'dev' });
    const as = (method: string, at: string, body: object) =>
      daemon.rest(method, `${path}/services${at}`, body, String(made.token));
    const traced = service('traced', { scale: 0, capabilities: ['sys_ptrace'] });
    const refused = await as('POST', '', traced);
    expect(refused.status).to.equal(400);
    expect(refused.body.message).to.match(
      /capabilities\[0\].*"sys_ptrace" is none of chown, .*verb elevate on services in namespace default/,
    );
    const less = service('less', { scale: 0, capabilities: ['kill', 'chown'], user: 'nobody' });
    expect((await as('POST', '', less)).status).to.equal(200);
    await daemon.ok('POST', `${path}/services`, traced);
    expect((await as('PUT', '/traced', { ...traced, labels: { a: 'b' } })).status).to.equal(200);
    expect((await as('POST', '/traced:scale', { scale: 0 })).status).to.equal(200);
    expect((await as('POST', '/traced:restart', {})).status).to.equal(200);
    const other = await as('PUT', '/traced', { ...traced, command: ['/bin/id'] });
    expect([other.status, String(other.body.message)]).to.satisfy(
      ([status, message]: [number, string]) => status === 400 && message.includes('elevate'),
    );
    const rules = [{ resources: ['services'], verbs: ['elevate'], namespaces: ['default'] }];
    await daemon.ok('POST', '/v1/admin/policies', { name: 'tracer', rules });
    await daemon.ok('POST', '/v1/admin/users/dev:attachPolicy', { policy: 'tracer' });
    expect((await as('PUT', '/traced', { ...traced, command: ['/bin/id'] })).status).to.equal(200);
  });

  it('a volume of another namespace is mounted only by a caller who may read it there', async () => {
    const rules = [{ resources: ['*'], verbs: ['*'], namespaces: ['default'] }];
    await daemon.ok('POST', '/v1/admin/policies', { name: 'only-default', rules });
    await daemon.ok('POST', '/v1/admin/users', { name: 'guest', policies: ['only-default'] });
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'guest' });
    await daemon.ok('POST', '/v1/namespaces', { name: 'team' });
    const volumes = [{ name: 'd', mountPath: '/d', claim: { name: 'theirs.team.svc' } }];
    const wanted = service('taker', { runtime: 'container', image: 'x:1', scale: 0, volumes });
    const cast = (by: unknown) => daemon.rest('POST', `${path}/services`, wanted, String(by));
    // Whether the volume exists makes no difference.
    for (const round of [1, 2]) {
      const refused = await cast(token);
      expect([refused.status, String(refused.body.message)], `${round}`).to.satisfy(
        ([status, message]: [number, string]) =>
          status === 400 &&
          message.includes('names a volume in namespace team, which you are not permitted to read'),
      );
      if (round === 2) break;
      await daemon.ok('POST', '/v1/namespaces/team/volumes', {
        ...{ name: 'theirs', storageClassName: 'local', size: '1Mi', accessMode: 'ReadWriteOnce' },
      });
    }
    expect((await cast(daemon.token)).status).to.equal(200);
  });
});
