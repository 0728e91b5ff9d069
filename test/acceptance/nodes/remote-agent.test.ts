import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { AgentProcess, freePort } from './agent-process.js';
import { TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';
const node = 'far-node';

describe("a separate agent process with its node's token", function () {
  this.timeout(300_000);
  let daemon: TestDaemon;
  let agent: AgentProcess;
  let second: AgentProcess | undefined;
  let address: string;

  before(async () => {
    address = `127.0.0.1:${await freePort()}`;
    daemon = await TestDaemon.start({
      arguments: ['--grpc-address', address],
      environment: {
        KEDGE_CONTROLLERS_HEARTBEAT_MS: '1000',
        KEDGE_CONTROLLERS_NODE_SILENT_MS: '15000',
      },
    });
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'far',
      driver: 'local-host',
      allowedTopologies: [{ matchLabels: { 'svc.io/node': node } }],
    });
    agent = await agentOf('far');
    await agent.run();
  });
  // After a failed case the next one has exactly one agent again.
  beforeEach(async () => {
    if (!agent.isAlive) await agent.run();
  });
  afterEach(async () => {
    agent.signal('SIGCONT');
    await second?.end('SIGKILL');
    second = undefined;
  });
  after(async () => {
    await agent.end('SIGTERM');
    await daemon.dispose();
  });

  let token: string;
  /** The agent of the node, not started, with a new account and token. */
  async function agentOf(account: string): Promise<AgentProcess> {
    const rights = { kind: 'serviceAccount', policies: ['node'], node };
    await daemon.ok('POST', '/v1/admin/users', { name: account, ...rights });
    token = String((await daemon.ok('POST', '/v1/auth/tokens', { subject: account })).token);
    return agentIn('far');
  }
  /** An agent of the node with the same token, not started. */
  function agentIn(directory: string): AgentProcess {
    return new AgentProcess({
      server: address,
      token,
      node,
      directory: join(daemon.home, directory),
      hostPathAllowlist: [join(daemon.home, 'host')],
      heartbeatMs: 500,
    });
  }
  const read = (path: string): Promise<Record<string, unknown>> => daemon.ok('GET', path);
  const heartbeat = async (): Promise<unknown> => (await read(`/v1/nodes/${node}`)).lastHeartbeatAt;
  async function beats(): Promise<void> {
    const before = await heartbeat();
    await eventually('a heartbeat', async () => (await heartbeat()) !== before, 90_000);
  }
  const instance = (name: string) => read(`${base}/instances/${name}-0`);
  async function running(name: string): Promise<Record<string, unknown>> {
    return eventually(
      `${name} to run`,
      async () => {
        const { status, body } = await daemon.rest('GET', `${base}/instances/${name}-0`);
        return status === 200 && body.status === 'Running' ? body : undefined;
      },
      90_000,
    ).catch(async (error: unknown) => {
      const found = await daemon.rest('GET', `${base}/instances/${name}-0`);
      throw new Error(`${String(error)}\n${JSON.stringify(found.body)}\n${agent.log}`);
    });
  }
  const alive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  const lines = async (name: string): Promise<number> =>
    (await readFile(join(daemon.home, 'host', name, 'part', 'lines'), 'utf8')).split('\n').length;

  /** A service with a volume on the agent's node only, mounted at a subPath. */
  async function make(name: string): Promise<void> {
    const parameters = { hostPath: join(daemon.home, 'host', name), createIfMissing: 'true' };
    await daemon.ok('POST', `${base}/volumes`, {
      name,
      storageClassName: 'far',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      parameters,
    });
    await daemon.ok('POST', `${base}/services`, {
      name,
      runtime: 'process',
      command: ['/bin/sh', '-c', 'while :; do echo line >> /data/lines; sleep 0.1; done'],
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: 'data', mountPath: '/data', subPath: 'part', claim: { name } }],
    });
  }

  it('registers its node and reports its status', async () => {
    const { status, runtimes, labels } = await read(`/v1/nodes/${node}`);
    expect([status, runtimes, labels]).to.deep.equal(['Ready', ['process'], {}]);
    await beats();
  });

  it('is refused once its node is deleted, and continues with a new account and token', async () => {
    await daemon.ok('DELETE', `/v1/nodes/${node}`);
    await eventually('its refusal', () =>
      agent.log.includes('belongs to a deleted node \\"far-node'),
    );
    expect((await daemon.rest('GET', `/v1/nodes/${node}`)).status).to.equal(404);
    await agent.end('SIGKILL');

    agent = await agentOf('far-again');
    await agent.run();
    await eventually('its return', async () => {
      const { body } = await daemon.rest('GET', `/v1/nodes/${node}`);
      return body.status === 'Ready' && Boolean(body.address);
    });
    await beats();
  });

  it('runs an assigned instance with its volume, over kills of the agent and the daemon', async () => {
    await make('first');
    const { node: where, pid } = await running('first');
    expect(where).to.equal(node);
    const volume = await read(`${base}/volumes/first`);
    expect([volume.status, volume.boundNode, volume.topology]).to.deep.equal([
      'Bound',
      node,
      { 'svc.io/node': node },
    ]);
    await eventually('a line', async () => (await lines('first')) > 1);

    await agent.end('SIGKILL');
    expect(alive(Number(pid)), 'while the agent is gone').to.equal(true);
    await agent.run();
    await beats();
    await daemon.crash();
    await beats();
    const after = await running('first');
    expect([after.pid, after.restartCount]).to.deep.equal([pid, 0]);
    const written = await lines('first');
    await eventually('more lines', async () => (await lines('first')) > written);

    await daemon.ok('DELETE', `${base}/services/first`);
    await eventually(
      'the instance to be gone',
      async () => (await daemon.rest('GET', `${base}/instances/first-0`)).status === 404,
      90_000,
    ).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${JSON.stringify(await instance('first'))}\n${agent.log}`);
    });
    expect(alive(Number(pid)), 'when the instance is gone').to.equal(false);
    const left = await read(`${base}/volumes/first`);
    expect([left.attachments, left.boundNode]).to.deep.equal([[], '']);
  });

  it('is the only one of its node: a second process can not use its directory, and waits with another one', async () => {
    const refused = agentIn('far');
    refused.launch();
    expect(await refused.ended()).to.equal(1);
    expect(refused.log).to.contain('DirectoryLocked').and.contain('is in use by process');

    const other = agentIn('far-second');
    second = other;
    other.launch();
    await eventually('the second one to wait', () =>
      other.log.includes('another process is the agent of the node'),
    );
    const { agentId } = await read(`/v1/nodes/${node}`);
    await make('shared');
    const { pid } = await running('shared');
    const attached = async () => (await read(`${base}/volumes/shared`)).attachments;
    const before = await attached();

    agent.signal('SIGSTOP');
    await eventually('the second one to run', () => other.log.includes('"msg":"ready"'), 90_000);
    expect((await read(`/v1/nodes/${node}`)).agentId).to.not.equal(agentId);
    agent.signal('SIGCONT');
    expect(await agent.ended(), agent.log).to.equal(1);
    expect(agent.log).to.contain('as the agent of node far-node').and.contain('one agent per node');
    expect(agent.log).to.not.contain('torn down');
    expect(await attached(), 'as the older one left it').to.deep.equal(before);
    expect(alive(Number(pid)), 'what the older one ran').to.equal(true);

    expect(await other.end('SIGTERM'), other.log).to.equal(0);
    await agent.run();
    await beats();
    await daemon.ok('DELETE', `${base}/services/shared`);
    await eventually(
      'the instance to be gone',
      async () => (await daemon.rest('GET', `${base}/instances/shared-0`)).status === 404,
      90_000,
    );
    expect(alive(Number(pid)), 'when the instance is gone').to.equal(false);
  });

  it('protects its volumes from detach --force while it answers; a silent one loses them, and then ends their workloads', async () => {
    await make('forced');
    const { pid } = await running('forced');
    const detach = (...flags: readonly string[]) =>
      daemon.cli('volume', 'detach', 'forced', ...flags);
    const before = await read(`${base}/volumes/forced`);
    const refused = await detach('--force');
    expect(refused.code).to.not.equal(0);
    expect(refused.stderr).to.contain('which is Ready; scale its service down');
    expect((await read(`${base}/volumes/forced`)).attachments).to.deep.equal(before.attachments);
    expect(alive(Number(pid)), 'what runs with it').to.equal(true);

    agent.signal('SIGSTOP');
    await eventually(
      'the node to be silent',
      async () => (await read(`/v1/nodes/${node}`)).status === 'NotReady',
      90_000,
    );
    expect((await detach()).stderr).to.contain('then use --force');
    expect((await detach('--force')).stdout).to.contain('is being detached');
    const taken = await eventually('its detachment', async () => {
      const volume = await read(`${base}/volumes/forced`);
      return volume.status === 'Available' ? volume : undefined;
    });
    expect(taken.attachments).to.deep.equal([]);
    expect(JSON.stringify(taken.conditions)).to.contain('force-detached from node far-node');
    agent.signal('SIGCONT');
    await eventually('the end of what ran', () => !alive(Number(pid)), 90_000);
    await eventually(
      'the volume to be its own again',
      async () => (await read(`${base}/volumes/forced`)).status === 'Bound',
      90_000,
    );
    const again = await running('forced');
    expect(again.pid).to.not.equal(pid);
    await daemon.ok('DELETE', `${base}/services/forced`);
    await eventually(
      'the instance to be gone',
      async () => (await daemon.rest('GET', `${base}/instances/forced-0`)).status === 404,
      90_000,
    );
    expect(alive(Number(again.pid)), 'when the instance is gone').to.equal(false);
  });

  it('keeps force-detached mounts after a restart until their workload has ended, and then removes them', async () => {
    await make('lost');
    const { pid } = await running('lost');
    const { uid } = (await read(`${base}/volumes/lost`)).metadata as { uid: string };
    const mounts = () => readFile('/proc/self/mountinfo', 'utf8');
    expect(await mounts(), 'the part that it sees').to.contain(uid);
    await agent.end('SIGKILL');
    await eventually(
      'the node to be silent',
      async () => (await read(`/v1/nodes/${node}`)).status === 'NotReady',
      90_000,
    );
    const { stdout } = await daemon.cli('volume', 'detach', 'lost', '--force');
    expect(stdout).to.contain('is being detached');
    await eventually(
      'its detachment',
      async () => (await read(`${base}/volumes/lost`)).status === 'Available',
      90_000,
    );
    await daemon.ok('DELETE', `${base}/services/lost`);
    expect(alive(Number(pid)), 'while the agent is gone').to.equal(true);
    await agent.run();
    await eventually(
      'the instance to be gone',
      async () => (await daemon.rest('GET', `${base}/instances/lost-0`)).status === 404,
      90_000,
    );
    expect(agent.log).to.not.contain('a mount without an attachment');
    expect(alive(Number(pid)), 'when the instance is gone').to.equal(false);
    expect(await mounts(), 'when nothing runs with it').to.not.contain(uid);
  });

  it('stops its workloads, then releases its volumes, and reports its stop', async () => {
    await make('second');
    const { pid } = await running('second');
    expect(await agent.end('SIGTERM'), agent.log).to.equal(0);
    expect(alive(Number(pid))).to.equal(false);
    expect(agent.log).to.contain('"msg":"All volumes torn down"').and.contain('"detached":1');
    expect((await instance('second')).status).to.equal('Stopped');
    const { status, attachments } = await read(`${base}/volumes/second`);
    expect([status, attachments], agent.log).to.deep.equal(['Available', []]);
    expect((await read(`/v1/nodes/${node}`)).status).to.equal('NotReady');
  });
});
