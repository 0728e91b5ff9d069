import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { AgentProcess, freePort } from '../../acceptance/nodes/agent-process.js';
import { TestDaemon } from '../../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from '../engine.js';

const base = '/v1/namespaces/default';
const node = 'far-node';
const names = ['boxed', 'contained'] as const;

describe('an agent that is stopped by a signal', function () {
  this.timeout(400_000);
  let engine: RealEngine;
  let daemon: TestDaemon;
  let agent: AgentProcess;

  before(async function () {
    requireEngine(this);
    engine = await RealEngine.start();
    const address = `127.0.0.1:${await freePort()}`;
    daemon = await TestDaemon.start({
      arguments: ['--grpc-address', address],
      environment: {
        KEDGE_CONTROLLERS_HEARTBEAT_MS: '1000',
        KEDGE_CONTROLLERS_NODE_SILENT_MS: '5000',
      },
    });
    const rights = { kind: 'serviceAccount', policies: ['node'], node };
    await daemon.ok('POST', '/v1/admin/users', { name: 'far', ...rights });
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'far' });
    agent = new AgentProcess({
      ...{ server: address, token: String(token), node, directory: join(daemon.home, 'far') },
      ...{ hostPathAllowlist: [], heartbeatMs: 500, dockerSocket: engine.socketPath },
    });
    await agent.run();
  });
  after(async () => {
    agent?.signal('SIGCONT');
    await agent?.end('SIGTERM');
    await daemon?.dispose();
    await engine?.stop();
  });

  type Body = Record<string, unknown>;
  const readiness = ({ conditions }: Body): string =>
    (conditions as { type: string; status: string }[]).find(({ type }) => type === 'Ready')
      ?.status ?? '';
  const becomes = (status: string, ready: string): Promise<readonly Body[]> =>
    eventually(
      `both to be ${status}`,
      async () => {
        const { body } = await daemon.rest('GET', `${base}/instances`);
        const found = (body.items as Body[]).toSorted((a, b) =>
          String(a.name) < String(b.name) ? -1 : 1,
        );
        return (
          found.length === names.length &&
          found.every((each) => each.status === status && readiness(each) === ready) &&
          found
        );
      },
      90_000,
    );
  const identity = ({ metadata, pid, containerId, restartCount, node: on }: Body): object => ({
    uid: (metadata as Body).uid,
    ...{ pid, containerId, restartCount, on },
  });
  const containers = (): string => engine.docker('ps', '--all', '--quiet', '--no-trunc');
  /** The number of the last line of a log. A line that is written during the command is printed as well. */
  const lastLine = async (name: string): Promise<number> => {
    const { stdout, stderr } = await daemon.cli('logs', `${name}-0`, '--tail', '1');
    const [, line] = /line (\d+)\n$/.exec(stdout) ?? [];
    return line === undefined ? expect.fail(`no line: ${stdout}${stderr}`) : Number(line);
  };

  it('makes its node NotReady and its instances Unknown; each continues to run once, and is adopted afterwards', async () => {
    const script = 'n=0; while :; do n=$((n+1)); echo line $n; sleep 0.2; done';
    for (const name of names)
      await daemon.ok('POST', `${base}/services`, {
        ...{ name, command: ['/bin/sh', '-c', script], terminationGracePeriodSeconds: 0 },
        ...(name === 'boxed' ? { runtime: 'process' } : { image: busyboxImage }),
        nodeSelector: { 'svc.io/node': node },
      });
    const before = await becomes('Running', 'True');
    const all = containers();
    expect(all).to.equal(before[1]?.containerId);
    const lines = await Promise.all(names.map(lastLine));

    agent.signal('SIGSTOP');
    const away = await becomes('Unknown', 'False');
    expect((await daemon.ok('GET', `/v1/nodes/${node}`)).status).to.equal('NotReady');
    expect(away.map(identity)).to.deep.equal(before.map(identity));
    const result = await daemon.cli('exec', 'boxed-0', '--', 'true');
    expect(result.code).to.not.equal(0);
    expect(result.stderr).to.contain(`the agent of node ${node} did not answer within`);
    expect(process.kill(Number(before[0]?.pid), 0)).to.equal(true);
    expect(containers()).to.equal(all);

    agent.signal('SIGCONT');
    const after = await becomes('Running', 'True');
    expect(after.map(identity)).to.deep.equal(before.map(identity));
    expect(containers()).to.equal(all);
    // Both ran meanwhile: 20 lines take at least 4 s, and the node was silent for more than 5 s.
    for (const [index, name] of names.entries())
      expect(await lastLine(name)).to.be.greaterThan((lines[index] ?? 0) + 20);
    const again = await daemon.cli('exec', 'boxed-0', '--', 'echo', 'here');
    expect([again.code, again.stdout], again.stderr).to.deep.equal([0, 'here\n']);
  });
});
