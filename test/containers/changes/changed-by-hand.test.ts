import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import type { TestDaemon } from '../../acceptance/daemon.js';
import { busyboxImage, type RealEngine } from '../engine.js';
import { startEngineAndDaemon, stopEngineAndDaemon } from '../engine-daemon.js';

const base = '/v1/namespaces/default';

describe('containers that a user of the engine changes by hand', function () {
  this.timeout(600_000);
  let engine: RealEngine;
  let daemon: TestDaemon;

  before(async function () {
    ({ engine, daemon } = await startEngineAndDaemon(this, {
      environment: {
        KEDGE_CONTROLLERS_WORKLOAD_PROBE_MS: '500',
      },
    }));
  });
  after(() => stopEngineAndDaemon({ engine, daemon }));

  const create = (name: string, script: string, more: object = {}) =>
    daemon.ok('POST', `${base}/services`, {
      name,
      image: busyboxImage,
      command: ['/bin/sh', '-c', script],
      terminationGracePeriodSeconds: 1,
      minReadySeconds: 0,
      ...more,
    });
  type Body = Record<string, unknown>;
  const conditionOf = (body: Body, wanted: string) =>
    (body.conditions as Record<'type' | 'status' | 'reason' | 'message', string>[]).find(
      ({ type }) => type === wanted,
    );
  const readyOf = (body: Body) => conditionOf(body, 'Ready');
  const becomes = (name: string, status: string, reason: string): Promise<Body> =>
    eventually(
      `${name} to be ${status} ${reason}`,
      async () => {
        const { body } = await daemon.rest('GET', `${base}/instances/${name}`);
        const ready = body.conditions === undefined ? undefined : readyOf(body);
        return ready?.status === status && ready.reason === reason ? body : undefined;
      },
      120_000,
    );
  const containerOf = async (name: string): Promise<string> =>
    String((await daemon.ok('GET', `${base}/instances/${name}`)).containerId);
  const gone = async (name: string): Promise<void> => {
    await daemon.ok('DELETE', `${base}/services/${name}`);
    await eventually(
      `${name} to be gone`,
      async () => (await daemon.rest('GET', `${base}/services/${name}`)).status === 404,
      60_000,
    );
  };
  const why = async (name: string): Promise<string> =>
    (await daemon.cli('why', `service/${name}`)).stdout;
  /** The last line of an explanation is the command of the remedy. */
  const commandOf = (text: string): string[] =>
    (text.trim().split('\n').at(-1) ?? '').trim().split(' ');

  it('a paused one is not ready, and the remedy continues it', async () => {
    await create('held', 'sleep 600');
    await becomes('held-0', 'True', 'Running');
    engine.docker('pause', await containerOf('held-0'));
    await becomes('held-0', 'False', 'Paused');
    const [docker, ...args] = commandOf(await why('held'));
    expect([docker, args[0]]).to.deep.equal(['docker', 'unpause']);
    engine.docker(...args);
    await becomes('held-0', 'True', 'Running');
    engine.docker('pause', await containerOf('held-0'));
    await gone('held');
  });

  it('one without its network is not ready, and the remedy connects it', async () => {
    await create('apart', 'sleep 600');
    const before = await becomes('apart-0', 'True', 'Running');
    const network = engine.docker('network', 'ls', '--filter', 'name=kedge-', '--format={{.Name}}');
    engine.docker('network', 'disconnect', '--force', network, String(before.containerId));
    engine.docker('network', 'rm', network);
    const lost = await becomes('apart-0', 'False', 'NetworkLost');
    expect(lost.ip ?? '').to.equal('');
    const [, ...args] = commandOf(await why('apart'));
    expect((await daemon.cli(...args)).code).to.equal(0);
    const after = await becomes('apart-0', 'True', 'Running');
    expect(after.ip).to.match(/^\d+\./);
    expect(after.containerId).not.to.equal(before.containerId);
    await gone('apart');
  });

  it('one with other limits stays ready, and a condition has the command that restores them', async () => {
    const resources = {
      ...{ cpu: { limit: '500m' }, memory: { limit: '64Mi' } },
      ...{ pids: 50, strict: true },
    };
    await create('limited', 'sleep 600', { resources });
    const { containerId } = await becomes('limited-0', 'True', 'Running');
    const container = String(containerId);
    /** The engine changes one limit after the other: the message must have all of `changes`. */
    const limitsAre = (
      status: string,
      reason: string,
      ...changes: readonly string[]
    ): Promise<string> =>
      eventually(
        `limits ${status} ${reason}`,
        async () => {
          const { body } = await daemon.rest('GET', `${base}/instances/limited-0`);
          expect(readyOf(body)?.status).to.equal('True');
          const found = conditionOf(body, 'LimitsEnforced');
          if (found?.status !== status || found.reason !== reason) return undefined;
          return changes.every((each) => found.message.includes(each)) ? found.message : undefined;
        },
        30_000,
      );
    const restore = (message: string): string =>
      engine.docker(...(/docker (update [^;]*) restores/.exec(message)?.[1] ?? '').split(' '));
    // Past the engine, whose configuration stays the same.
    const pid = engine.docker('inspect', '--format={{.State.Pid}}', container);
    const groups = (await readFile(`/proc/${pid}/cgroup`, 'utf8')).split('\n');
    const group = groups.find((line) => /^\d+:(pids)?:/.test(line) && line.includes(container));
    const [, controller = '', folder = ''] = group?.split(':') ?? [];
    const pids = join('/sys/fs/cgroup', controller, folder, 'pids.max');
    expect((await readFile(pids, 'utf8')).trim()).to.equal('50');
    await writeFile(pids, '99');
    const reported = await limitsAre('False', 'LimitsChanged', 'pids 99 instead of 50');
    restore(reported);
    await limitsAre('True', 'LimitsEnforced');
    expect((await readFile(pids, 'utf8')).trim()).to.equal('50');
    for (const restart of [false, true]) {
      const more = ['--memory=1g', '--memory-swap=1g', '--pids-limit=99', '--cpu-period=50000'];
      engine.docker('update', ...more, container);
      const changes = ['memory 1Gi instead of 64Mi', 'pids 99 instead of 50'];
      const message = await limitsAre(
        ...(['False', 'LimitsChanged', ...changes, 'cpu 1000m instead of 500m'] as const),
      );
      expect(await why('limited')).to.contain('kedge restart instance/limited-0');
      if (restart) await daemon.ok('POST', `${base}/instances/limited-0:restart`);
      else restore(message);
      if (!restart) await limitsAre('True', 'LimitsEnforced');
    }
    await eventually('a container with the limits of the service', async () => {
      const { body } = await daemon.rest('GET', `${base}/instances/limited-0`);
      if (body.containerId === container || body.status !== 'Running') return false;
      expect(conditionOf(body, 'LimitsEnforced')?.status).not.to.equal('False');
      return true;
    });
    await gone('limited');
  });

  it('one with a restart policy is restarted by Kedge alone', async () => {
    await create('kept', 'sleep 600');
    const before = await becomes('kept-0', 'True', 'Running');
    const container = String(before.containerId);
    const policyOf = () =>
      engine.docker('inspect', '--format={{.HostConfig.RestartPolicy.Name}}', container);
    engine.docker('update', '--restart=always', container);
    await eventually('the policy to be reset', () => policyOf() === 'no', 30_000);
    engine.docker('kill', container);
    const after = await eventually(
      'another run',
      async () => {
        const { body } = await daemon.rest('GET', `${base}/instances/kept-0`);
        return body.status === 'Running' && body.containerId !== container ? body : undefined;
      },
      60_000,
    );
    const running = engine.docker(
      'ps',
      '--quiet',
      '--no-trunc',
      '--filter',
      'label=svc.io/instance',
    );
    expect(running).to.equal(after.containerId);
    await gone('kept');
  });

  it('an ended one that is removed is not started again, if its policy does not restart it', async () => {
    await create('once', 'exit 3', { restartPolicy: 'Never' });
    await create('done', 'exit 0', { restartPolicy: 'OnFailure' });
    await becomes('once-0', 'False', 'Failed');
    await becomes('done-0', 'False', 'Exited');
    engine.docker('container', 'prune', '--force');
    await daemon.end('SIGTERM');
    await daemon.run();
    await create('marker', 'sleep 600');
    await becomes('marker-0', 'True', 'Running');
    const started = engine.docker('ps', '--all', '--quiet', '--filter=status=exited');
    expect(started).to.equal('');
    await daemon.ok('POST', `${base}/instances/once-0:restart`);
    await eventually(
      'the requested run',
      () => engine.docker('ps', '--all', '--quiet', '--filter=exited=3') !== '',
      120_000,
    );
  });

  it('a renamed one is still stopped, and a foreign one with its next name does not block it', async () => {
    await create('named', 'sleep 600');
    const before = await becomes('named-0', 'True', 'Running');
    const container = String(before.containerId);
    const next = engine.docker('inspect', '--format={{.Name}}', container).slice(1, -1) + '2';
    engine.docker('rename', container, 'mine');
    engine.docker('create', '--name', next, busyboxImage, 'sleep', '1');
    engine.docker('kill', container);
    const after = await eventually('another run', async () => {
      const { body } = await daemon.rest('GET', `${base}/instances/named-0`);
      return body.status === 'Running' && body.containerId !== container ? body : undefined;
    });
    // The run whose name is taken is not counted: its container is never created.
    expect(after.restartCount).to.equal(1);
    engine.docker('rename', String(after.containerId), 'mine-too');
    await daemon.ok('DELETE', `${base}/services/named`);
    await eventually('all its containers to be gone', () => {
      const names = engine.docker('ps', '--all', '--format={{.Names}}').split('\n');
      return !names.some((name) => name.startsWith('mine')) && names.includes(next);
    });
    engine.docker('rm', next);
  });
});
