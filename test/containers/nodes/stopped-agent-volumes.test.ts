import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { AgentProcess, freePort } from '../../acceptance/nodes/agent-process.js';
import { TestDaemon } from '../../acceptance/daemon.js';
import { requireDevices } from '../../drivers/devices.js';
import { busyboxImage, RealEngine, requireEngine } from '../engine.js';

const program = fileURLToPath(new URL('../kedged-with-blocks.js', import.meta.url));
const base = '/v1/namespaces/default';
const node = 'far-node';

describe('an agent that is stopped by a signal, with a container on a block volume', function () {
  this.timeout(400_000);
  let engine: RealEngine;
  let daemon: TestDaemon;
  let agent: AgentProcess;
  let blocks: string;

  before(async function () {
    requireEngine(this);
    requireDevices(this);
    engine = await RealEngine.start();
    const address = `127.0.0.1:${await freePort()}`;
    daemon = await TestDaemon.start({
      program,
      arguments: ['--grpc-address', address],
      environment: {
        KEDGE_CONTROLLERS_HEARTBEAT_MS: '1000',
        KEDGE_CONTROLLERS_NODE_SILENT_MS: '5000',
      },
    });
    blocks = join(daemon.home, 'blocks');
    const rights = { kind: 'serviceAccount', policies: ['node'], node };
    await daemon.ok('POST', '/v1/admin/users', { name: 'far', ...rights });
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'far' });
    agent = new AgentProcess({
      ...{ server: address, token: String(token), node, directory: join(daemon.home, 'far') },
      ...{ hostPathAllowlist: [], heartbeatMs: 500, dockerSocket: engine.socketPath, blocks },
    });
    await agent.run();
    await daemon.ok('POST', '/v1/storageclasses', {
      ...{ name: 'block', driver: 'loop-block', parameters: { fsType: 'ext4' } },
    });
  });
  after(async () => {
    agent?.signal('SIGCONT');
    await agent?.end('SIGTERM');
    await daemon?.dispose();
    await engine?.stop();
  });

  /** The loop devices of images of the driver. */
  const devices = (): readonly string[] =>
    execFileSync('losetup', ['--list', '--noheadings', '--output', 'NAME,BACK-FILE'], {
      encoding: 'utf8',
    })
      .split('\n')
      .filter((line) => line.includes(blocks))
      .map((line) => line.split(/\s+/)[0] ?? '');
  const bodyOf = async (path: string): Promise<Record<string, unknown>> =>
    (await daemon.rest('GET', `${base}/${path}`)).body;

  it('keeps the volume attached and written after the service is deleted, until it runs again', async () => {
    await daemon.ok('POST', `${base}/services`, {
      ...{ name: 'db', image: busyboxImage, terminationGracePeriodSeconds: 0 },
      command: ['sh', '-c', 'n=0; while :; do n=$((n+1)); echo $n >/data/n; sync; sleep 0.2; done'],
      volumes: [
        {
          ...{ name: 'data', mountPath: '/data' },
          claimTemplate: {
            ...{ storageClassName: 'block', size: '64Mi', accessMode: 'ReadWriteOnce' },
          },
        },
      ],
      nodeSelector: { 'svc.io/node': node },
    });
    const before = await eventually(
      'db to run',
      async () => {
        const body = await bodyOf('instances/db-0');
        return body.status === 'Running' ? body : undefined;
      },
      120_000,
    );
    const container = String(before.containerId);
    const count = (): number => Number(engine.docker('exec', container, 'cat', '/data/n'));
    const attached = devices();
    expect(attached).to.have.length(1);
    const [device = ''] = attached;

    agent.signal('SIGSTOP');
    await eventually(
      'the node to be NotReady',
      async () => (await daemon.ok('GET', `/v1/nodes/${node}`)).status === 'NotReady',
      60_000,
    );
    const from = count();
    await daemon.ok('DELETE', `${base}/services/db`);
    // The agent of the node detaches. A server that detached for a silent node would do so within the twelve seconds below.
    const volume = String((await daemon.list(`${base}/volumes`))[0]?.name);
    const unforced = await daemon.rest('POST', `${base}/volumes/${volume}:detach`, {});
    expect(unforced.status, JSON.stringify(unforced.body)).to.not.equal(200);
    const end = performance.now() + 12_000;
    await eventually(
      'twelve seconds of writes',
      () => {
        expect(devices()).to.deep.equal(attached);
        expect(existsSync(`/sys/fs/ext4/${basename(device)}`)).to.equal(true);
        return performance.now() > end;
      },
      30_000,
    );
    expect(count()).to.be.greaterThan(from + 5);
    const held = await bodyOf(`volumes/${volume}`);
    expect(held.status).to.equal('Bound');
    expect(JSON.stringify(held)).to.contain(`"${node}"`);
    expect((await daemon.rest('GET', `${base}/instances/db-0`)).status).to.equal(200);

    agent.signal('SIGCONT');
    await eventually(
      'the instance to be gone',
      async () => (await daemon.rest('GET', `${base}/instances/db-0`)).status === 404,
      90_000,
    );
    await eventually('the volume to be detached', () => devices().length === 0, 90_000);
    expect(engine.docker('ps', '--all', '--quiet', '--no-trunc')).to.not.contain(container);
  });
});
