import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { readMountTable } from '@kedge/driver-sdk';
import { eventually } from 'kedge/testing';
import type { TestDaemon } from '../acceptance/daemon.js';
import { cleanUp, requireDevices } from '../drivers/devices.js';
import { busyboxImage, type RealEngine } from './engine.js';
import { startEngineAndDaemon, stopEngineAndDaemon } from './engine-daemon.js';

const base = '/v1/namespaces/default';

/** Owners of containers that Kedge did not start for this cluster, with the labels of these containers. */
const others = {
  'the user': [],
  'another cluster': [
    ...['--label', `svc.io/cluster=${randomUUID()}`],
    ...['--label', `svc.io/instance=${randomUUID()}`, '--label', 'svc.io/run=1'],
  ],
};

describe('a volume that a container of others has mounted', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let daemon: TestDaemon;

  before(async function () {
    requireDevices(this);
    ({ engine, daemon } = await startEngineAndDaemon(this, {
      environment: {
        KEDGE_CONTROLLERS_DRIVER_BACKOFF_MAX_MS: '1000',
        KEDGE_CONTROLLERS_TEARDOWN_BACKOFF_MAX_MS: '1000',
      },
    }));
    const parameters = { backing: 'image' };
    await daemon.ok('POST', '/v1/storageclasses', { name: 'image', driver: 'local', parameters });
  });
  after(async () => {
    await daemon?.end('SIGTERM');
    if (daemon) await cleanUp(daemon.home);
    await stopEngineAndDaemon({ engine, daemon });
  });

  const bodyOf = async (path: string): Promise<Record<string, unknown>> =>
    (await daemon.rest('GET', `${base}/${path}`)).body;

  for (const [index, [whose, labels]] of Object.entries(others).entries())
    it(`stays attached as long as a container of ${whose} runs, and the message has the remedy`, async () => {
      const name = `held-${index}`;
      const claimTemplate = {
        storageClassName: 'image',
        size: '64Mi',
        accessMode: 'ReadWriteOnce',
      };
      await daemon.ok('POST', `${base}/services`, {
        ...{ name, image: busyboxImage, command: ['sleep', '600'] },
        terminationGracePeriodSeconds: 1,
        volumes: [{ name: 'data', mountPath: '/data', claimTemplate }],
      });
      const body = await eventually(
        'the instance to run',
        async () => {
          const found = await bodyOf(`instances/${name}-0`);
          return found.status === 'Running' ? found : undefined;
        },
        60_000,
      );
      const [{ source = '' } = {}] = body.mounts as { source: string }[];
      const holder = `holder-${index}`;
      const mount = ['--volume', `${source}:/held`];
      engine.docker(
        ...['run', '--detach', '--name', holder, '--network', 'none', ...labels, ...mount],
        ...[busyboxImage, 'sleep', '600'],
      );
      try {
        await daemon.ok('DELETE', `${base}/services/${name}`);
        await eventually(
          'the message',
          async () => {
            const found = JSON.stringify([
              await bodyOf(`instances/${name}-0`),
              await bodyOf(`volumes/data-${name}-0`),
            ]);
            const isTold =
              found.includes(`held by container ${holder}, `) &&
              found.includes(`stop that container (docker stop ${holder})`);
            if (isTold) return true;
            throw new Error(found);
          },
          60_000,
        );
        expect(execFileSync('losetup', ['--list'], { encoding: 'utf8' })).to.contain(daemon.home);
      } finally {
        engine.docker('rm', '--force', holder);
      }
      await eventually(
        'the service to be gone',
        async () => (await daemon.rest('GET', `${base}/services/${name}`)).status === 404,
        60_000,
      );
      await eventually(
        'no device',
        () => !execFileSync('losetup', ['--list'], { encoding: 'utf8' }).includes(daemon.home),
        60_000,
      );
      const left = (await readMountTable()).filter(({ target }) => target.startsWith(daemon.home));
      expect(left).to.deep.equal([]);
    });
});
