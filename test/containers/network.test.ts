import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import type { TestDaemon } from '../acceptance/daemon.js';
import { busyboxImage, type RealEngine } from './engine.js';
import { startEngineAndDaemon, stopEngineAndDaemon } from './engine-daemon.js';

const web =
  'mkdir -p /www && echo "from $KEDGE_INSTANCE.$KEDGE_NAMESPACE" >/www/who && exec httpd -f -p 8080 -h /www';

/** A port of this machine that nothing listens on. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function answerAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, path: '/who' }, (response) => {
      let body = '';
      response.on('data', (data) => (body += String(data)));
      response.on('end', () => resolve(body.trim()));
    });
    call.on('error', reject);
    call.end();
  });
}

describe('containers in the network of their cluster', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let daemon: TestDaemon;

  before(async function () {
    ({ engine, daemon } = await startEngineAndDaemon(this));
    await daemon.ok('POST', '/v1/namespaces', { name: 'other' });
  });
  afterEach(async () => {
    // A failed test must not fail the others.
    for (const namespace of ['default', 'other'])
      for (const name of ['web', 'client', 'onhost', 'alone', 'bare']) {
        const path = `/v1/namespaces/${namespace}/services/${name}`;
        if ((await daemon.rest('GET', path)).status === 200) await gone(name, namespace);
      }
  });
  after(() => stopEngineAndDaemon({ engine, daemon }));

  async function created(name: string, script: string, more: object = {}): Promise<void> {
    const { namespace = 'default', ...fields } = more as { readonly namespace?: string };
    await daemon.ok('POST', `/v1/namespaces/${namespace}/services`, {
      name,
      image: busyboxImage,
      command: ['/bin/sh', '-c', script],
      terminationGracePeriodSeconds: 1,
      ...fields,
    });
  }

  const instance = (name: string, namespace = 'default') =>
    daemon.rest('GET', `/v1/namespaces/${namespace}/instances/${name}`);
  const running = (name: string, namespace = 'default') =>
    eventually(
      `${name} Running`,
      async () => {
        const { body } = await instance(name, namespace);
        return body.status === 'Running' ? body : undefined;
      },
      60_000,
    );
  async function gone(name: string, namespace = 'default'): Promise<void> {
    const path = `/v1/namespaces/${namespace}/services/${name}`;
    await daemon.ok('DELETE', path);
    await eventually(
      `${name} gone`,
      async () => (await daemon.rest('GET', path)).status === 404,
      60_000,
    );
  }
  /** The response to GET /who that client-0 receives from the host `name`, or the error. The C library resolves the name. */
  async function fetched(name: string, namespace = 'default'): Promise<string> {
    const script = `exec 3<>/dev/tcp/${name}/8080 || exit; printf 'GET /who HTTP/1.0\\r\\n\\r\\n' >&3; tail -n 1 <&3`;
    const command = ['exec', 'client-0', '-n', namespace, '--', 'bash', '-c', script];
    const { stdout, stderr } = await daemon.cli(...command);
    return stdout.trim() || stderr;
  }
  const networks = () =>
    engine.docker('network', 'ls', '--format', '{{.Name}}').split('\n').filter(isOfCluster);
  const isOfCluster = (name: string) => name.startsWith('kedge-');

  it('reach each other by service, by instance and across namespaces, and the bridge is removed with the last', async () => {
    await created('web', web, { scale: 2 });
    await created('web', web, { namespace: 'other' });
    await created('client', 'exec sleep 600');
    await created('client', 'exec sleep 600', { namespace: 'other' });
    for (const name of ['web-0', 'web-1', 'client-0']) await running(name);
    for (const name of ['web-0', 'client-0']) await running(name, 'other');
    expect(networks()).to.have.lengthOf(1);

    expect(await fetched('web-0')).to.equal('from web-0.default');
    expect(await fetched('web-1')).to.equal('from web-1.default');
    expect(await fetched('web')).to.match(/^from web-[01]\.default$/);
    expect(await fetched('web.default')).to.match(/^from web-[01]\.default$/);
    // The bare name is that of its own namespace.
    expect(await fetched('web', 'other')).to.equal('from web-0.other');
    expect(await fetched('web.other')).to.equal('from web-0.other');
    expect(await fetched('web-1', 'other')).to.match(/No address|not known/);
    const { ip } = (await instance('web-1')).body;
    expect(await fetched(String(ip))).to.equal('from web-1.default');

    await gone('web');
    await gone('client');
    await gone('web', 'other');
    expect(networks()).to.have.lengthOf(1);
    await gone('client', 'other');
    expect(networks()).to.deep.equal([]);
  });

  it('publish host ports on the loopback address, which the instance shows', async () => {
    const hostPort = await freePort();
    await created('web', web, { ports: [{ name: 'http', port: 8080, hostPort }] });
    const body = await running('web-0');
    expect(body.hostPorts).to.deep.equal([
      { name: 'http', address: '127.0.0.1', hostPort, port: 8080, protocol: 'TCP' },
    ]);
    expect(await answerAt(hostPort)).to.equal('from web-0.default');
    const described = await daemon.cli('describe', 'instance', 'web-0');
    expect(described.stdout).to.include(`127.0.0.1:${hostPort} -> 8080/TCP`);
    await gone('web');
  });

  it('a host port that another program has is reported with the remedy, and used once it is free', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port: hostPort } = other.address() as AddressInfo;
    await created('web', web, { ports: [{ name: 'http', port: 8080, hostPort }] });
    const message = await eventually('the failure', async () => {
      const { body } = await instance('web-0');
      return typeof body.failureMessage === 'string' && body.failureMessage !== ''
        ? body.failureMessage
        : undefined;
    });
    expect(message).to.match(/can't be started: .*address already in use/);
    const why = await daemon.cli('why', 'service/web');
    expect(why.stdout).to.include('set ports[].hostPort of service default/web');
    await new Promise((resolve) => other.close(resolve));
    await running('web-0');
    expect(await answerAt(hostPort)).to.equal('from web-0.default');
    await gone('web');
    expect(networks()).to.deep.equal([]);
  });

  it('have the network of the node, or none, if the service selects it', async () => {
    const port = await freePort();
    await created('onhost', web.replace('8080', String(port)), {
      network: 'host',
      ports: [{ name: 'http', port }],
    });
    const body = await running('onhost-0');
    expect(body.hostPorts).to.deep.equal([
      { name: 'http', address: '', hostPort: port, port, protocol: 'TCP' },
    ]);
    expect(await answerAt(port)).to.equal('from onhost-0.default');
    await created('alone', 'exec sleep 600', { network: 'none' });
    await running('alone-0');
    const links = await daemon.cli('exec', 'alone-0', '--', 'ls', '/sys/class/net');
    expect(links.stdout.trim()).to.equal('lo');
    expect(networks()).to.deep.equal([]);
    await gone('onhost');
    await gone('alone');
  });

  it('the command is process 1 with init: false, and shared memory has its size', async () => {
    await created('bare', 'exec sleep 600', {
      init: false,
      resources: { sharedMemory: '8Mi', memory: { limit: '64Mi' }, pids: 20 },
    });
    await running('bare-0');
    const result = await daemon.cli(
      ...['exec', 'bare-0', '--', 'sh', '-c'],
      'cat /proc/1/comm; df -k /dev/shm | tail -n 1',
    );
    const [first, shm = ''] = result.stdout.trim().split('\n');
    expect(first).to.equal('sleep');
    expect(shm.split(/\s+/)[1]).to.equal('8192');
    await gone('bare');
  });
});
