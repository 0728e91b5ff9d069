import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { AgentProcess, freePort } from './agent-process.js';
import { TestDaemon } from '../daemon.js';

const node = 'far-node';
const instance = '/v1/namespaces/default/instances/web-0';

interface Rule {
  readonly resources: readonly string[];
}

describe('an agent whose account lost the right to write the status of instances', function () {
  this.timeout(240_000);
  let daemon: TestDaemon;
  let agent: AgentProcess;

  before(async () => {
    const address = `127.0.0.1:${await freePort()}`;
    daemon = await TestDaemon.start({ arguments: ['--grpc-address', address] });
    const account = { kind: 'serviceAccount', policies: ['node'], node };
    await daemon.ok('POST', '/v1/admin/users', { name: 'far', ...account });
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'far' });
    agent = new AgentProcess({
      ...{ server: address, token: String(token), node, heartbeatMs: 500 },
      directory: join(daemon.home, 'far'),
      hostPathAllowlist: [],
    });
    await agent.run();
  });
  after(async () => {
    await agent?.end('SIGTERM');
    await daemon?.dispose();
  });

  const why = async (what: string): Promise<string> => (await daemon.cli('why', what)).stdout;
  const withPolicies = (policies: readonly string[]) =>
    daemon.ok('PUT', '/v1/admin/users/far', {
      ...{ name: 'far', kind: 'serviceAccount', node, policies },
    });

  it('is the cause of its instances, until it has the right again', async () => {
    await daemon.cli('label', `node/${node}`, `place=${node}`);
    await daemon.ok('POST', '/v1/namespaces/default/services', {
      ...{ name: 'web', runtime: 'process', terminationGracePeriodSeconds: 1 },
      command: ['/bin/sh', '-c', 'sleep 600'],
      nodeSelector: { place: node },
    });
    const running = await eventually(
      'the workload',
      async () => {
        const { status, body } = await daemon.rest('GET', instance);
        return status === 200 && body.status === 'Running' ? body : undefined;
      },
      60_000,
    );
    const hasNone = async () => (await why('instance/web-0')).includes('It has no problem');
    await eventually('no problem', hasNone, 60_000);

    const { rules } = await daemon.ok('GET', '/v1/admin/policies/node');
    const kept = (rules as readonly Rule[]).map((rule) => ({
      ...rule,
      resources: rule.resources.filter((each) => each !== 'instances/status'),
    }));
    await daemon.ok('POST', '/v1/admin/policies', { name: 'limited', rules: kept });
    await withPolicies(['limited']);
    process.kill(Number(running.pid), 'SIGKILL');

    const refused = /Reason: +ReconcileRefused/;
    await eventually(
      'the refusal',
      async () => refused.test(await why('instance/web-0')),
      60_000,
    ).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${await why('instance/web-0')}\n${agent.log}`);
    });
    const explanation = await why('service/web');
    expect(explanation).to.match(refused).and.contain('Instance default/web-0');
    expect(explanation).to.contain('the reconcile by the agent is refused (PermissionDenied)');
    expect((await daemon.ok('GET', instance)).status).to.equal('Running');
    const described = (await daemon.cli('describe', 'service/web')).stdout;
    expect(described).to.contain('it waits for the end of the refusal');
    const all = (await daemon.cli('status')).stdout;
    expect(all).to.match(/Instance default\/web-0 +Running +the reconcile by the agent is refused/);

    await withPolicies(['node']);
    await eventually('the end of the refusal', hasNone, 90_000);
    const events = await daemon.cli('events', '--for', 'instance/web-0');
    expect(events.stdout).to.contain('Reconciled');
    expect((await daemon.cli('status')).stdout).to.not.contain('is refused');
  });
});
