import { type ChildProcess, spawn } from 'node:child_process';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { finish, root, TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default/configmaps';
const kedge = 'cmd/bin/kedge.mjs';

describe('kedge get --watch', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  let watching: ChildProcess | undefined;
  before(async () => {
    daemon = await TestDaemon.start();
  });
  afterEach(() => watching?.kill('SIGKILL'));
  after(() => daemon.dispose());

  it('applies the selector, continues after a kill -9 of the server, and reports the outage', async () => {
    const put = (name: string, show: string) =>
      daemon.ok('POST', base, { name, labels: { show }, data: {} });
    await put('first', 'yes');
    await put('silent', 'no');
    const args = ['get', 'configmaps', '--watch', '--selector', 'show=yes'];
    const child = spawn(process.execPath, [kedge, ...args], {
      cwd: root,
      env: { ...process.env, ...daemon.cliEnvironment },
    });
    watching = child;
    let output = '';
    child.stdout.on('data', (data) => (output += String(data)));
    let errors = '';
    child.stderr.on('data', (data) => (errors += String(data)));
    const ended = new Promise<number | null>((resolve) => {
      child.on('close', resolve);
    });
    await eventually('the present state', () => output.includes('first'));
    const port = (address: string): string => address.split(':')[1] ?? '';
    const ports = { grpc: port(daemon.grpcAddress), rest: port(daemon.restAddress) };
    await daemon.end('SIGKILL');
    await eventually(
      'the message about the outage',
      () => errors.includes('The server does not answer'),
      30_000,
    );
    await daemon.run(ports);
    await put('second', 'yes');
    await put('quiet', 'no');
    await daemon.ok('DELETE', `${base}/first`);
    await eventually(
      'what changed later',
      () => output.includes('second') && /first.*deleted/.test(output),
      90_000,
    );
    expect(output).to.not.match(/silent|quiet/);
    // Rows already printed are not printed again.
    expect(output.match(/^first/gm)).to.have.length(2);
    child.kill('SIGINT');
    expect(await ended).to.equal(0);
  });

  it('ends with the error if the server is unreachable at the start', async () => {
    const environment = { ...daemon.cliEnvironment, KEDGE_SERVER: '127.0.0.1:1' };
    const done = await finish(process.execPath, [kedge, 'get', 'configmaps', '-w'], environment);
    expect(done.code).to.not.equal(0);
    expect(done.stderr).to.contain('127.0.0.1:1');
  });
});
