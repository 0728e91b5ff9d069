import { execFileSync } from 'node:child_process';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { readMountTable } from '@kedge/driver-sdk';
import { eventually } from 'kedge/testing';
import type { TestDaemon } from '../acceptance/daemon.js';
import { cleanUp, requireDevices } from '../drivers/devices.js';
import { busyboxImage, type RealEngine } from './engine.js';
import { startEngineAndDaemon, stopEngineAndDaemon } from './engine-daemon.js';

const base = '/v1/namespaces/default';
const program = fileURLToPath(new URL('kedged-with-blocks.js', import.meta.url));

describe('volumes of every driver in containers', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let daemon: TestDaemon;

  before(async function () {
    requireDevices(this);
    ({ engine, daemon } = await startEngineAndDaemon(this, {
      program,
      environment: {
        KEDGE_CONTROLLERS_VOLUME_USAGE_MS: '1000',
        KEDGE_CONTROLLERS_VOLUME_FILES_MS: '1000',
      },
    }));
    await mkdir(join(daemon.home, 'host'), { recursive: true });
    const classOf = (name: string, driver: string, parameters: object) =>
      daemon.ok('POST', '/v1/storageclasses', { name, driver, parameters });
    await classOf('image', 'local', { backing: 'image' });
    await classOf('block', 'loop-block', { fsType: 'ext4' });
  });
  after(async () => {
    await daemon?.end('SIGTERM');
    if (daemon) await cleanUp(daemon.home);
    await stopEngineAndDaemon({ engine, daemon });
  });

  const volumeOf = async (name: string): Promise<Record<string, unknown>> =>
    (await daemon.rest('GET', `${base}/volumes/${name}`)).body;
  const instanceOf = async (name: string): Promise<Record<string, unknown>> =>
    (await daemon.rest('GET', `${base}/instances/${name}`)).body;
  const running = (name: string) =>
    eventually(
      `${name} to run`,
      async () => {
        const body = await instanceOf(name);
        return body.status === 'Running' ? body : undefined;
      },
      60_000,
    );
  const gone = async (name: string): Promise<void> => {
    await daemon.ok('DELETE', `${base}/services/${name}`);
    await eventually(
      `${name} to be gone`,
      async () => (await daemon.rest('GET', `${base}/services/${name}`)).status === 404,
      60_000,
    );
  };
  const service = (name: string, script: string, volumes: readonly object[]): object => ({
    name,
    image: busyboxImage,
    command: ['sh', '-c', script],
    user: '1000:1000',
    terminationGracePeriodSeconds: 1,
    volumes,
  });
  const own = (storageClassName: string, size = '64Mi'): object => ({
    claimTemplate: { storageClassName, size, accessMode: 'ReadWriteOnce' },
  });
  const metricsText = async (): Promise<string> =>
    (await fetch(`http://${daemon.opsAddress}/metrics`)).text();
  const exec = (body: Record<string, unknown>, ...command: readonly string[]): string =>
    engine.docker('exec', String(body.containerId), ...command);

  for (const storage of ['local', 'image', 'block'])
    it(`${storage}: belongs to fsUser and fsGroup, is written by a container, and its usage is in status and metrics`, async () => {
      const name = `w-${storage}`;
      const volume = `data-${name}-0`;
      const mounts = [
        { name: 'data', mountPath: '/data', fsUser: 1000, fsGroup: 1000, ...own(storage) },
      ];
      const script =
        'cat /data/n 2>/dev/null; dd if=/dev/zero of=/data/blob bs=1M count=8; echo x >>/data/n; exec sleep 600';
      await daemon.ok('POST', `${base}/services`, service(name, script, mounts));
      const body = await running(`${name}-0`);
      const [{ source = '' } = {}] = body.mounts as { source: string }[];
      await eventually('the file', () => exec(body, 'cat', '/data/n') === 'x');
      const root = await stat(source);
      expect([root.uid, root.gid, root.mode & 0o7070]).to.deep.equal([1000, 1000, 0o2070]);
      const measured = await eventually(
        'the usage in the status',
        async () => {
          const found = await volumeOf(volume);
          return Number(found.usedBytes) >= 8 * 2 ** 20 ? found : undefined;
        },
        30_000,
      );
      const total = Number(measured.totalBytes);
      if (storage !== 'local') expect(total).to.be.within(40 * 2 ** 20, 64 * 2 ** 20);
      expect(Number(measured.usedInodes)).to.be.at.least(3);
      const text = await eventually('the metrics', async () => {
        const found = await metricsText();
        return found.includes(`"${volume}"`) ? found : undefined;
      });
      const labels = `{namespace="default",persistentvolumeclaim="${volume}"}`;
      expect(text).to.contain(`kubelet_volume_stats_capacity_bytes${labels} ${total}\n`);
      for (const metric of [
        'available_bytes',
        'used_bytes',
        'inodes',
        'inodes_free',
        'inodes_used',
      ])
        expect(text).to.match(
          new RegExp(`kubelet_volume_stats_${metric}\\{[^}]*"${volume}"\\} \\d+\\n`),
        );

      // The next service of the name gets the same data, and the owner is not changed again.
      exec(body, 'chmod', '700', '/data');
      await gone(name);
      expect((await volumeOf(volume)).status).to.equal('Released');
      await daemon.ok('POST', `${base}/services`, service(name, script, mounts));
      const again = await running(`${name}-0`);
      await eventually('the file', () => exec(again, 'cat', '/data/n') === 'x\nx');
      expect((await stat(source)).mode & 0o777).to.equal(0o700);
      await gone(name);
      const left = (await readMountTable()).filter(({ target }) => target.startsWith(daemon.home));
      expect(left).to.deep.equal([]);
      await eventually('no device', () => {
        return !execFileSync('losetup', ['--list'], { encoding: 'utf8' }).includes(daemon.home);
      });
      await eventually('no metrics', async () => !(await metricsText()).includes(`"${volume}"`));
    });

  it('fsUser applies to a subPath, and is refused for a read-only mount and for a host directory', async () => {
    const mounts = [
      {
        ...{ name: 'part', mountPath: '/part', subPath: 'a/b', fsUser: 1000, fsGroup: 1000 },
        ...own('block'),
      },
    ];
    await daemon.ok(
      'POST',
      `${base}/services`,
      service('parts', 'echo y >/part/f; sleep 600', mounts),
    );
    const body = await running('parts-0');
    await eventually('the file', () => exec(body, 'cat', '/part/f') === 'y');
    expect(exec(body, 'stat', '-c', '%u:%g', '/part')).to.equal('1000:1000');
    await gone('parts');

    const readOnly = [{ ...mounts[0], readOnly: true }];
    const refused = await daemon.rest('POST', `${base}/services`, service('ro', 'true', readOnly));
    expect(refused.status).to.equal(400);
    expect(JSON.stringify(refused.body)).to.match(/fsUser.*is not allowed for a read-only mount/);

    await daemon.ok('POST', `${base}/volumes`, {
      name: 'shared',
      storageClassName: 'local-host',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      parameters: { hostPath: join(daemon.home, 'host', 'own'), createIfMissing: 'true' },
    });
    const host = [{ name: 'host', mountPath: '/host', fsUser: 1000, claim: { name: 'shared' } }];
    await daemon.ok('POST', `${base}/services`, service('host', 'sleep 600', host));
    await eventually('the refusal', async () => {
      const { conditions = [] } = await instanceOf('host-0');
      return JSON.stringify(conditions).includes(
        'fsUser and fsGroup are not for a directory of the host, which keeps its owner; remove them',
      );
    });
    expect((await stat(join(daemon.home, 'host', 'own'))).uid).to.equal(0);
    await gone('host');
  });

  it('a volume that is nearly full has a condition, and kedge why prints the remedy', async () => {
    const script = 'dd if=/dev/zero of=/data/blob bs=1M; sleep 600';
    const mounts = [{ name: 'data', mountPath: '/data', fsUser: 1000, ...own('image', '16Mi') }];
    await daemon.ok('POST', `${base}/services`, service('full', script, mounts));
    const body = await running('full-0');
    const condition = async (): Promise<{ status: string; message: string } | undefined> => {
      const { conditions = [] } = await volumeOf('data-full-0');
      return (conditions as { type: string; status: string; message: string }[]).find(
        ({ type }) => type === 'SpaceLow',
      );
    };
    const full = await eventually('the condition', async () => {
      const found = await condition();
      return found?.status === 'True' ? found : undefined;
    });
    expect(full.message).to.equal('more than 90 % of the space of its file system is used');
    const { stdout } = await daemon.cli('why', 'volume/data-full-0');
    expect(stdout).to.contain('kedge volume resize data-full-0 VALUE');
    exec(body, 'rm', '/data/blob');
    await eventually(
      'free space again',
      async () => (await condition())?.status === 'False',
      30_000,
    );
    await gone('full');
  });
});
