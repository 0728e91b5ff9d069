import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { root, type TestDaemon } from '../acceptance/daemon.js';
import { cleanUp, requireDevices } from '../drivers/devices.js';
import type { RealEngine } from './engine.js';
import { startEngineAndDaemon, stopEngineAndDaemon } from './engine-daemon.js';
import { imageMs, loadImage, requireImage } from './real-image.js';

const base = '/v1/namespaces/default';
describe('real software in containers', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let daemon: TestDaemon;

  before(async function () {
    this.timeout(imageMs + 120_000);
    requireDevices(this);
    requireImage(this);
    ({ engine, daemon } = await startEngineAndDaemon(this));
    await loadImage(daemon);
  });
  after(async () => {
    await daemon?.end('SIGTERM');
    if (daemon) await cleanUp(daemon.home);
    await stopEngineAndDaemon({ engine, daemon });
  });

  const instanceOf = async (name: string): Promise<Record<string, unknown>> =>
    (await daemon.rest('GET', `${base}/instances/${name}`)).body;
  const running = (name: string, restarts = 0) =>
    eventually(
      `${name} to run`,
      async () => {
        const body = await instanceOf(name);
        const runs = body.status === 'Running' && Number(body.restartCount ?? 0) >= restarts;
        return runs ? body : undefined;
      },
      120_000,
    );
  const gone = async (name: string): Promise<void> => {
    await daemon.ok('DELETE', `${base}/services/${name}`);
    await eventually(
      `${name} to be gone`,
      async () => (await daemon.rest('GET', `${base}/services/${name}`)).status === 404,
      120_000,
    );
  };

  it('postgres.yaml works as written: a client reaches the server by its name, and a kill does not decrease its count of rows', async () => {
    const cast = await daemon.cli('cast', '--no-wait', join(root, 'docs/examples/postgres.yaml'));
    expect(cast.code, cast.stderr).to.equal(0);
    const client = await running('visits-0');
    const visits = (): number => {
      const out = engine.docker('logs', '--tail', '5', String(client.containerId));
      return Number(/.*visits: (\d+)/s.exec(out)?.[1] ?? 0);
    };
    await eventually('visits', () => visits() >= 3, 120_000).catch(async (error: unknown) => {
      const server = await instanceOf('postgres-0');
      const id = String(server.containerId);
      const log =
        id === ''
          ? ''
          : spawnSync('docker', ['-H', `unix://${engine.socketPath}`, 'logs', id]).output;
      throw new Error(`${JSON.stringify(server)}\n${String(log)}`, { cause: error });
    });
    const server = await running('postgres-0');
    // The volume is a separate image.
    const [{ source = '' } = {}] = server.mounts as { source: string }[];
    expect(
      spawnSync('findmnt', ['-no', 'FSTYPE', '--target', source], { encoding: 'utf8' }).stdout,
    ).to.equal('ext4\n');
    const before = visits();
    engine.docker('kill', '--signal', 'KILL', String(server.containerId));
    await running('postgres-0', 1);
    await eventually('further visits', () => visits() > before + 2, 120_000);
    // Acknowledged rows are never lost, so the count never decreases.
    const all = engine.docker('logs', String(client.containerId));
    const counts = [...all.matchAll(/visits: (\d+)/g)].map((match) => Number(match[1]));
    expect(counts).to.deep.equal([...counts].sort((a, b) => a - b));
    await gone('visits');
    await gone('postgres');
  });

  it('redis keeps acknowledged writes although it is killed', async () => {
    await daemon.ok('POST', `${base}/services`, {
      name: 'redis',
      image: 'postgres:15',
      user: '999:999',
      command: ['redis-server', '--dir', '/data', '--appendonly', 'yes', '--appendfsync', 'always'],
      volumes: [
        {
          ...{ name: 'data', mountPath: '/data', fsUser: 999, fsGroup: 999 },
          claimTemplate: { storageClassName: 'local', size: '64Mi', accessMode: 'ReadWriteOnce' },
        },
      ],
    });
    const redis = (id: unknown, ...words: readonly string[]): string =>
      engine.docker('exec', String(id), 'redis-cli', ...words);
    const before = await running('redis-0');
    await eventually('redis to answer', () => redis(before.containerId, 'ping') === 'PONG');
    for (let n = 0; n < 20; n += 1)
      expect(redis(before.containerId, 'incr', 'count')).to.equal(String(n + 1));
    engine.docker('kill', '--signal', 'KILL', String(before.containerId));
    const after = await running('redis-0', 1);
    await eventually('redis to answer again', () => {
      try {
        return redis(after.containerId, 'get', 'count') === '20';
      } catch {
        // It does not listen yet.
        return false;
      }
    });
    await gone('redis');
  });
});
