import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, rm, symlink } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { createServer as createHttpServer } from 'node:http';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from './engine.js';
import { RealRegistry, requireRegistry } from './registry.js';

const base = '/v1/namespaces/default';
/** A user without rights, but in the group of the engine's socket. */
const uid = 12_345;

/** A failure, and the words about its cause and remedy that `kedge why` must print. */
interface Failure {
  readonly name: string;
  /** The engine at the socket that kedged is configured with. Default: the real engine. */
  readonly engine?: 'none' | 'unreadable' | 'old';
  /** The fields of the service besides its name. */
  readonly service?: () => object;
  /** Causes the failure. Returns the function that removes the cause. */
  readonly given?: () => Promise<() => Promise<unknown>>;
  readonly cause: readonly string[];
  readonly remedy: readonly string[];
  /** Whether the instance runs without further action once the cause is removed. */
  readonly heals?: boolean;
}

describe('kedge why prints cause and remedy of each failure of containers', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let locked: RealRegistry;
  let daemon: TestDaemon;
  let socket: string;
  let dataRoot: string;
  let servers: Server[] = [];
  let taken = 0;

  before(async function () {
    requireEngine(this);
    requireRegistry(this);
    taken = await listen(createServer());
    let environment: Record<string, string> = {};
    daemon = await TestDaemon.start({
      prefix: ['setpriv', '--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups', '--'],
      get environment() {
        return environment;
      },
      prepare: async (data) => {
        const home = dirname(data);
        await chown(home, uid, uid);
        socket = join(home, 'engine.sock');
        environment = {
          KEDGE_RUNTIME_DOCKER_SOCKET: socket,
          KEDGE_CONTROLLERS_START_BACKOFF_MAX_MS: '1000',
          KEDGE_CONTROLLERS_WORKLOAD_PROBE_MS: '1000',
        };
        // A disk that a test can fill.
        dataRoot = join(home, 'engine-data');
        await mkdir(dataRoot);
        const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'none', dataRoot]);
        expect(mounted.status).to.equal(0);
        const args = ['--group', String(uid), '--data-root', dataRoot];
        engine = await RealEngine.start({ args });
        await chmod(engine.directory, 0o711);
      },
    });
    locked = await RealRegistry.start({ password: true });
    const old = createHttpServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({ Version: '19.03.15', ApiVersion: '1.40', MinAPIVersion: '1.12' }),
      );
    });
    servers.push(old.listen(join(daemon.home, 'old.sock')));
    servers.push(createServer().listen(join(daemon.home, 'unreadable.sock')));
    await eventually('the sockets', () => servers.every(({ listening }) => listening));
    await chmod(join(daemon.home, 'old.sock'), 0o666);
    await chmod(join(daemon.home, 'unreadable.sock'), 0o600);
  });
  after(async () => {
    for (const server of servers) server.close();
    servers = [];
    await daemon?.end('SIGTERM');
    await locked?.stop();
    await engine?.stop();
    if (dataRoot) spawnSync('umount', ['-l', dataRoot]);
    await daemon?.dispose();
  });

  async function listen(server: Server): Promise<number> {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    servers.push(server);
    return (server.address() as AddressInfo).port;
  }

  async function freePort(): Promise<number> {
    const server = createServer();
    const port = await listen(server);
    servers = servers.filter((each) => each !== server);
    await new Promise((resolve) => server.close(resolve));
    return port;
  }

  const leadTo = async (which: Failure['engine']): Promise<void> => {
    await rm(socket, { force: true });
    if (which === 'none') return;
    await symlink(which ? join(daemon.home, `${which}.sock`) : engine.socketPath, socket);
  };
  const filler = (): string => join(dataRoot, 'filler');

  const failures: readonly Failure[] = [
    {
      name: 'no engine',
      engine: 'none',
      cause: ['engine.sock does not exist'],
      remedy: ['install and start an engine', 'continues automatically once the engine answers'],
      heals: true,
    },
    {
      name: 'a socket that can not be opened',
      engine: 'unreadable',
      cause: ["can't be opened by the user of kedged"],
      remedy: ['usermod -aG docker USER', 'restart kedged'],
      heals: true,
    },
    {
      name: 'an engine that is too old',
      engine: 'old',
      cause: ['the container engine 19.03.15 supports API 1.12 to 1.40', 'kedged supports 1.41'],
      remedy: ['upgrade the engine (Docker 20.10 or later)'],
      heals: true,
    },
    {
      name: 'a registry that requires credentials',
      service: () => ({ image: `${locked.host}/app:1` }),
      cause: ['no basic auth credentials'],
      remedy: ['cast a Registry with its credentials', 'the pull is retried automatically'],
    },
    {
      name: 'an image that does not exist',
      service: () => ({ image: 'kedge-test/none:1', imagePull: 'never' }),
      cause: ['kedge-test/none:1'],
      remedy: ['kedge image load', 'kedge patch service/', 'imagePull'],
    },
    {
      name: 'a port that another process listens on',
      service: () => ({
        ports: [{ name: 'http', port: 80, hostPort: taken }],
      }),
      cause: ['address already in use'],
      remedy: ['ports[].hostPort', 'a port that is free on the node', 'ss -lntup'],
    },
    {
      name: 'a port that a container of another program publishes',
      given: async () => {
        taken = await freePort();
        engine.docker('network', 'create', 'kedge-test-other');
        const other = engine.docker(
          ...['run', '--detach', '--network', 'kedge-test-other'],
          ...['--publish', `127.0.0.1:${taken}:80`, busyboxImage, 'sleep', '600'],
        );
        return () => {
          engine.docker('rm', '--force', other);
          return Promise.resolve(engine.docker('network', 'rm', 'kedge-test-other'));
        };
      },
      service: () => ({ ports: [{ name: 'http', port: 80, hostPort: taken }] }),
      cause: ['port is already allocated'],
      remedy: [
        'ports[].hostPort',
        'a port that is free on the node',
        'docker ps --filter publish=',
      ],
      heals: true,
    },
    {
      name: 'a command that does not exist',
      service: () => ({ command: ['slep', '600'] }),
      cause: ['slep'],
      remedy: ['set command[0] of service', 'a program of the image'],
    },
    {
      name: 'a workload that exceeds its memory',
      service: () => ({
        command: ['sh', '-c', 'tail /dev/zero; exit 1'],
        resources: { memory: { limit: '16Mi' } },
      }),
      cause: ['memory'],
      remedy: ['resources.memory.limit', 'more than 16Mi'],
    },
    {
      name: 'an engine whose disk is full',
      given: async () => {
        spawnSync('dd', ['if=/dev/zero', `of=${filler()}`, 'bs=64k']);
        return () => rm(filler());
      },
      cause: ['no space left on device'],
      remedy: ['kedge image prune --node', 'retried automatically'],
      heals: true,
    },
  ];

  for (const [at, failure] of failures.entries())
    it(failure.name, async () => {
      const name = `f${at}`;
      await leadTo(failure.engine);
      const end = await failure.given?.();
      try {
        await daemon.ok('POST', `${base}/services`, {
          ...{ name, image: busyboxImage, command: ['sleep', '600'] },
          ...{ terminationGracePeriodSeconds: 0 },
          ...failure.service?.(),
        });
        const [cause = ''] = failure.cause;
        const output = await eventually(
          failure.name,
          async () => {
            const { stdout } = await daemon.cli('why', `service/${name}`);
            return stdout.includes(cause) && stdout.includes('Next:') ? stdout : undefined;
          },
          60_000,
        ).catch(async (error: unknown) => {
          const { stdout, stderr } = await daemon.cli('why', `service/${name}`);
          throw new Error(`${stdout}${stderr}`, { cause: error });
        });
        for (const words of [...failure.cause, ...failure.remedy]) expect(output).to.contain(words);
      } finally {
        await end?.();
        await leadTo(undefined);
      }
      if (failure.heals)
        await eventually(
          `${name} to run`,
          async () => {
            const { body } = await daemon.rest('GET', `${base}/instances/${name}-0`);
            return body.status === 'Running';
          },
          60_000,
        );
      await daemon.ok('DELETE', `${base}/services/${name}`);
    });
});
