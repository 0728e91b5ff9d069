import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { kedgeClient } from '@kedge/api/client';
import { AgentProcess, freePort } from '../../acceptance/nodes/agent-process.js';
import { root, TestDaemon } from '../../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from '../engine.js';

const base = '/v1/namespaces/default';
const node = 'far-node';

describe('containers and images of a node whose agent is another process', function () {
  this.timeout(400_000);
  let engine: RealEngine;
  let daemon: TestDaemon;
  let agent: AgentProcess;
  let tar: string;

  before(async function () {
    requireEngine(this);
    engine = await RealEngine.start();
    const address = `127.0.0.1:${await freePort()}`;
    daemon = await TestDaemon.start({
      arguments: ['--grpc-address', address],
      environment: {
        KEDGE_CONTROLLERS_HEARTBEAT_MS: '1000',
        KEDGE_CONTROLLERS_NODE_SILENT_MS: '60000',
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
    const container = engine.docker('create', busyboxImage, 'sh');
    engine.docker('commit', container, 'kedge-test/far:1');
    engine.docker('rm', container);
    tar = join(engine.directory, 'far.tar');
    engine.docker('save', '--output', tar, 'kedge-test/far:1');
    engine.docker('rmi', 'kedge-test/far:1');
  });
  after(async () => {
    if (daemon?.token) {
      await daemon.rest('DELETE', `${base}/services/app`);
      await eventually(
        'app to be gone',
        async () => (await daemon.rest('GET', `${base}/services/app`)).status === 404,
        90_000,
      );
    }
    await agent?.end('SIGTERM');
    await daemon?.dispose();
    await engine?.stop();
  });

  it('a load that loses its agent fails with the cause, and can be repeated', async () => {
    const client = kedgeClient({ server: daemon.grpcAddress, token: daemon.token });
    const given = (await readFile(tar)).subarray(0, 1_500_000);
    const end = new AbortController();
    async function* half() {
      yield { start: { node } };
      for (let at = 0; at < given.length; at += 250_000)
        yield { data: given.subarray(at, at + 250_000).toString('base64') };
      // The rest is never sent.
      await once(end.signal, 'abort');
    }
    const answers = client.api.duplex('ImageService.Load', half(), end.signal);
    const iterator = answers[Symbol.asyncIterator]();
    expect((await iterator.next()).value).to.have.property('progress');
    await agent.end('SIGKILL');
    const error: unknown = await iterator.next().catch((thrown: unknown) => thrown);
    expect(error).to.include({ code: 'Unavailable', reason: 'AgentLost' });
    end.abort();
    client.close();
    await agent.run();
    const again = await daemon.cli('image', 'load', tar, '--node', node);
    expect([again.code, again.stdout], again.stderr).to.deep.equal([
      0,
      'kedge-test/far:1 loaded\n',
    ]);
  });

  it('an image that was loaded there runs: kedge logs prints its output, kedge exec runs a command in it', async () => {
    await daemon.ok('POST', `${base}/services`, {
      ...{ name: 'app', image: 'kedge-test/far:1', terminationGracePeriodSeconds: 0 },
      command: ['sh', '-c', 'n=0; while :; do n=$((n+1)); echo line $n; sleep 1; done'],
      nodeSelector: { 'svc.io/node': node },
    });
    const app = await eventually(
      'app to run',
      async () => {
        const { body } = await daemon.rest('GET', `${base}/instances/app-0`);
        return body.status === 'Running' ? body : undefined;
      },
      90_000,
    );
    expect(app.node).to.equal(node);
    const script = 'read word; echo got $word; exit 3';
    const run = spawn(
      process.execPath,
      [...[join(root, 'cmd/bin/kedge.mjs'), 'exec', '-i', 'app-0'], ...['--', 'sh', '-c', script]],
      { env: { ...process.env, ...daemon.cliEnvironment } },
    );
    let stdout = '';
    run.stdout.on('data', (data) => (stdout += String(data)));
    run.stdin.end('hello\n');
    expect([(await once(run, 'close'))[0], stdout]).to.deep.equal([3, 'got hello\n']);
    const lines = await eventually('two lines', async () => {
      const { stdout: logged } = await daemon.cli('logs', 'app-0');
      return logged.includes('line 2\n') && logged;
    });
    expect(lines).to.match(/^line 1\nline 2\n/);

    const { stdout: list } = await daemon.cli('image', 'list', '--node', node);
    expect(list).to.match(/kedge-test\/far:1 .* loaded +default\/app-0/);
    const pruned = await daemon.cli('image', 'prune', '--node', node);
    expect([pruned.code, pruned.stdout]).to.deep.equal([0, '0 images removed, 0 B\n']);
  });

  it('the command of a killed agent is ended once the agent runs again, and the commands of others continue', async () => {
    const sleeps = (seconds: string): number =>
      engine
        .docker('top', String(container), '-o', 'pid,args')
        .split('\n')
        .filter((line) => line.includes(`sleep ${seconds}`)).length;
    const { containerId: container, restartCount } = await daemon.ok(
      'GET',
      `${base}/instances/app-0`,
    );
    engine.docker('exec', '--detach', String(container), 'sleep', '7001');
    const words = ['exec', 'app-0', '--', 'sleep', '7002'];
    const run = spawn(process.execPath, [join(root, 'cmd/bin/kedge.mjs'), ...words], {
      env: { ...process.env, ...daemon.cliEnvironment },
    });
    const ended = once(run, 'close');
    await eventually('both commands', () => sleeps('7001') + sleeps('7002') === 2, 60_000);
    await agent.end('SIGKILL');
    await ended;
    expect(sleeps('7002'), 'while the agent is down').to.equal(1);
    await agent.run();
    await eventually('the command to end', () => sleeps('7002') === 0, 60_000);
    expect(sleeps('7001'), 'of others').to.equal(1);
    const after = await daemon.ok('GET', `${base}/instances/app-0`);
    expect([after.containerId, after.restartCount]).to.deep.equal([container, restartCount]);
  });
});
