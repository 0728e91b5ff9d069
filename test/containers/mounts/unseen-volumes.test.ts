import { createServer, connect, type Server } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from '../engine.js';

const base = '/v1/namespaces/default';
/** busybox with a link /linked to /home. */
const linkedImage = 'kedge-test/linked:1';

/** Passes connections on to the socket of an engine. Each connection of kedged is one call. */
class EngineProxy {
  readonly #server: Server;
  /** The number of starts whose answer is not passed on: the connection breaks once the container runs. */
  breaks = 0;

  constructor(path: string, engine: string) {
    this.#server = createServer((client) => {
      const upstream = connect(engine);
      let isBroken = false;
      client.once('data', (first: Buffer) => {
        if (this.breaks > 0 && /^POST \S+\/start[? ]/.test(first.toString('latin1'))) {
          this.breaks -= 1;
          isBroken = true;
        }
        upstream.write(first);
        client.pipe(upstream);
      });
      upstream.once('data', (first: Buffer) => {
        if (isBroken) return void client.destroy();
        client.write(first);
        upstream.pipe(client);
      });
      client.on('error', () => undefined);
      upstream.on('error', () => client.destroy());
      client.once('close', () => upstream.destroy());
      upstream.once('close', () => client.end());
    }).listen(path);
  }

  close(): void {
    this.#server.close();
  }
}

describe('a volume that is mounted only in the mount namespace of kedged', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let proxy: EngineProxy;
  let daemon: TestDaemon;

  before(async function () {
    requireEngine(this);
    engine = await RealEngine.start();
    engine.docker(
      'run',
      '--network',
      'none',
      '--name',
      'link',
      busyboxImage,
      'ln',
      '-s',
      '/home',
      '/linked',
    );
    engine.docker('commit', 'link', linkedImage);
    const path = join(engine.directory, 'proxy.sock');
    proxy = new EngineProxy(path, engine.socketPath);
    daemon = await TestDaemon.start({
      prefix: ['unshare', '--mount', '--propagation', 'private', '--'],
      environment: {
        KEDGE_RUNTIME_DOCKER_SOCKET: path,
        KEDGE_CONTROLLERS_WORKLOAD_PROBE_MS: '1000',
      },
    });
  });
  after(async () => {
    await daemon?.dispose();
    proxy?.close();
    await engine?.stop();
  });

  /** Requires that the container of a service with such a volume is removed after its start. */
  async function requireRefused(name: string, image: string, mountPath: string): Promise<void> {
    await daemon.ok('POST', `${base}/volumes`, {
      ...{ name, storageClassName: 'local-host', size: '1Mi', accessMode: 'ReadWriteOnce' },
      parameters: { hostPath: join(daemon.home, 'host', name), createIfMissing: 'true' },
    });
    await daemon.ok('POST', `${base}/services`, {
      ...{ name, image, command: ['sleep', '600'], network: 'none' },
      volumes: [{ name, mountPath, claim: { name } }],
      terminationGracePeriodSeconds: 0,
    });
    const message = await eventually(
      'the start to fail',
      async () => {
        const { body } = await daemon.rest('GET', `${base}/instances/${name}-0`);
        return body.status === 'Failed' ? String(body.failureMessage) : undefined;
      },
      60_000,
    );
    expect(message).to.contain(`mount ${mountPath}: the container engine does not see`);
    await daemon.ok('DELETE', `${base}/services/${name}`);
  }

  it('has its container removed', () => requireRefused('plain', busyboxImage, '/data'));

  it('has its container removed also if the mountPath has a link of the image', () =>
    requireRefused('linked', linkedImage, '/linked/data'));

  it('has its container removed also if the connection breaks between its start and the comparison', async () => {
    proxy.breaks = 1;
    await requireRefused('broken', busyboxImage, '/data');
    expect(proxy.breaks).to.equal(0);
  });
});
