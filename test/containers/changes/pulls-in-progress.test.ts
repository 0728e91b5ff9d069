import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import {
  createServer,
  type IncomingMessage,
  request as openRequest,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { textOf } from 'kedge/rpc';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from '../engine.js';
import { RealRegistry, registryUser, requireRegistry } from '../registry.js';

const base = '/v1/namespaces/default';

/** A blob with more bytes is a layer. */
const layerBytes = 1_000_000;

/** A proxy of a registry that can hold the requests for blobs, or the second half of each layer. */
class HoldingProxy {
  readonly #server: Server;
  readonly #held: (() => void)[] = [];
  #holds: 'nothing' | 'blobs' | 'halves' = 'nothing';

  private constructor(registry: string) {
    const [hostname, port] = registry.split(':');
    this.#server = createServer((request, response) => {
      const forward = (): void => {
        const { method, url, headers } = request;
        const onward = openRequest({ hostname, port, method, path: url, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 500, answer.headers);
          const bytes = Number(answer.headers['content-length']);
          if (this.#holds !== 'halves' || !(bytes > layerBytes)) answer.pipe(response);
          else this.#pipeHalf(answer, response, bytes);
        });
        onward.on('error', () => response.destroy());
        request.pipe(onward);
      };
      if (this.#holds === 'blobs' && request.url?.includes('/blobs/')) this.#held.push(forward);
      else forward();
    });
  }

  #pipeHalf(answer: IncomingMessage, response: ServerResponse, bytes: number): void {
    let left = bytes / 2;
    const pass = (data: Buffer): void => {
      response.write(data);
      left -= data.length;
      if (left > 0) return;
      answer.off('data', pass).pause();
      this.#held.push(() => answer.pipe(response));
    };
    answer.on('data', pass);
  }

  static async of(registry: string): Promise<HoldingProxy> {
    const proxy = new HoldingProxy(registry);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  hold(what: 'blobs' | 'halves' = 'blobs'): void {
    this.#holds = what;
  }

  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  release(): void {
    this.#holds = 'nothing';
    for (const forward of this.#held.splice(0)) forward();
  }

  async stop(): Promise<void> {
    this.release();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

describe('a slow pull of an image', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let registry: RealRegistry;
  let proxy: HoldingProxy;
  let daemon: TestDaemon;

  before(async function () {
    requireEngine(this);
    requireRegistry(this);
    engine = await RealEngine.start();
    registry = await RealRegistry.start({ password: true });
    proxy = await HoldingProxy.of(registry.host);
    daemon = await TestDaemon.start({
      environment: {
        KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath,
        KEDGE_CONTROLLERS_START_BACKOFF_MAX_MS: '1000',
      },
    });
    await daemon.ok('POST', `${base}/secrets`, {
      name: 'pull',
      data: { password: registryUser.password },
    });
    await daemon.ok('POST', '/v1/admin/registries', {
      ...{ name: 'held', registry: proxy.host },
      auth: {
        ...{ type: 'basic', username: registryUser.username },
        password: 'secret:pull.default.svc/password',
      },
    });
  });
  afterEach(() => proxy?.release());
  after(async () => {
    await daemon?.dispose();
    await proxy?.stop();
    await registry?.stop();
    await engine?.stop();
  });

  const instanceOf = async (name: string): Promise<Record<string, unknown>> =>
    (await daemon.rest('GET', `${base}/instances/${name}-0`)).body;
  const running = (name: string) =>
    eventually(
      `${name} to run`,
      async () => ((await instanceOf(name)).status === 'Running' ? true : undefined),
      60_000,
    );
  /** Pushes an image with its own content and returns its name at the proxy. */
  function pushed(name: string): string {
    const container = engine.docker('create', busyboxImage, 'sh');
    const image = engine.docker('commit', '--change', `LABEL content=${name}`, container);
    engine.docker('rm', container);
    registry.push(engine, image, name);
    return `${proxy.host}/${name}`;
  }
  const cast = (name: string, image: string) =>
    daemon.ok('POST', `${base}/services`, {
      ...{ name, image, command: ['sleep', '600'], terminationGracePeriodSeconds: 0 },
    });
  /** Casts a service whose pull is held. */
  async function castHeld(name: string): Promise<string> {
    const image = pushed(`${name}:1`);
    proxy.hold();
    await cast(name, image);
    await eventually('the pull', () => proxy.isHolding, 60_000);
    return image;
  }

  it('continues beside a prune, which removes other images and not what is pulled', async () => {
    const file = join(engine.directory, 'old.tar');
    engine.docker('tag', busyboxImage, 'kedge-test/old:1');
    const container = engine.docker('create', busyboxImage, 'sh');
    engine.docker('commit', '--change', 'LABEL content=old', container, 'kedge-test/old:1');
    engine.docker('rm', container);
    engine.docker('save', '--output', file, 'kedge-test/old:1');
    engine.docker('rmi', 'kedge-test/old:1');
    expect((await daemon.cli('image', 'load', file)).code).to.equal(0);

    const image = await castHeld('beside');
    const pruned = await daemon.cli('image', 'prune');
    expect(pruned.stdout, pruned.stderr).to.contain('kedge-test/old:1').and.contain('1 image rem');
    expect((await instanceOf('beside')).status).not.to.equal('Running');
    proxy.release();
    await running('beside');
    const again = await daemon.cli('image', 'prune');
    expect(again.stdout).to.contain('0 images removed');
    const row = (await daemon.cli('image', 'list')).stdout
      .split('\n')
      .find((line) => line.startsWith(image));
    expect(row).to.contain('pulled').and.contain('default/beside-0');
  });

  it('ends although its secret was deleted meanwhile; the next one fails with the missing secret', async () => {
    await castHeld('kept');
    await daemon.ok('DELETE', `${base}/secrets/pull`);
    proxy.release();
    await running('kept');
    await cast('next', pushed('next:1'));
    const message = await eventually(
      'the failure',
      async () => textOf(await instanceOf('next'), 'failureMessage') || undefined,
      60_000,
    );
    expect(message).to.contain('registry held has no credentials').and.contain('default/pull');
    await daemon.ok('POST', `${base}/secrets`, {
      name: 'pull',
      data: { password: registryUser.password },
    });
    await running('next');
  });

  it('is one for two instances, and its progress is the reason why they are not ready', async () => {
    const file = join(engine.directory, 'layer');
    await writeFile(file, randomBytes(4 * layerBytes));
    const container = engine.docker('create', busyboxImage, 'sh');
    engine.docker('cp', file, `${container}:/layer`);
    const committed = engine.docker('commit', container);
    engine.docker('rm', container);
    await rm(file);
    registry.push(engine, committed, 'twice:1');
    const image = `${proxy.host}/twice:1`;

    const since = String(Date.now() / 1_000);
    proxy.hold('halves');
    await daemon.ok('POST', `${base}/services`, {
      ...{ name: 'twice', image, command: ['sleep', '600'], scale: 2 },
      terminationGracePeriodSeconds: 0,
    });
    const conditionsOf = async (name: string): Promise<readonly Record<string, string>[]> => {
      const { body } = await daemon.rest('GET', `${base}/instances/${name}`);
      return (body.conditions ?? []) as Record<string, string>[];
    };
    for (const name of ['twice-0', 'twice-1'])
      await eventually(
        `the progress of ${name}`,
        async () =>
          (await conditionsOf(name)).some(
            ({ type, reason, message = '' }) =>
              type === 'Ready' &&
              reason === 'Pulling' &&
              message.startsWith(`pulling image ${image}, `) &&
              /, [0-5]?0 %$/.test(message),
          ),
        60_000,
      );
    proxy.release();
    await eventually(
      'both to run',
      async () =>
        (await daemon.list(`${base}/instances`)).filter(
          ({ name, status }) => String(name).startsWith('twice-') && status === 'Running',
        ).length === 2,
      60_000,
    );
    const until = String(Date.now() / 1_000);
    const period = ['--since', since, '--until', until];
    const pulls = engine.docker('events', ...period, '--filter', 'event=pull');
    expect(pulls.split('\n'), pulls).to.have.lengthOf(1);
  });
});
