import { execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { readMountTable } from '@kedge/driver-sdk';
import { textOf } from 'kedge/rpc';
import { eventually } from 'kedge/testing';
import type { TestDaemon } from '../acceptance/daemon.js';
import { busyboxImage, type RealEngine } from './engine.js';
import { startEngineAndDaemon, stopEngineAndDaemon } from './engine-daemon.js';

const base = '/v1/namespaces/default';

describe('a container service with volumes', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let daemon: TestDaemon;

  before(async function () {
    ({ engine, daemon } = await startEngineAndDaemon(this));
    await mkdir(join(daemon.home, 'host'), { recursive: true });
  });
  after(() => stopEngineAndDaemon({ engine, daemon }));

  const instance = (name: string) => daemon.ok('GET', `${base}/instances/${name}`);
  const running = (name: string) =>
    eventually(
      `${name} Running`,
      async () => {
        const { body } = await daemon.rest('GET', `${base}/instances/${name}`);
        return body.status === 'Running' ? body : undefined;
      },
      60_000,
    );
  const condition = (body: Record<string, unknown>, type: string) =>
    (body.conditions as { type: string; reason: string; message: string }[]).find(
      (each) => each.type === type,
    );
  const containers = (): readonly string[] =>
    engine.docker('ps', '--all', '--format', '{{.Names}} {{.State}}').split('\n').filter(Boolean);

  function service(name: string, script: string, more: object = {}): object {
    return {
      name,
      image: busyboxImage,
      command: ['/bin/sh', '-c', script],
      terminationGracePeriodSeconds: 2,
      ...more,
    };
  }

  async function gone(name: string): Promise<void> {
    await daemon.ok('DELETE', `${base}/services/${name}`);
    await eventually(
      `${name} to be gone`,
      async () => {
        return (await daemon.rest('GET', `${base}/services/${name}`)).status === 404;
      },
      60_000,
    );
  }

  it('runs, writes into a host directory and a local one, and survives a kill of the daemon', async () => {
    const hostPath = join(daemon.home, 'host', 'shared');
    await daemon.ok('POST', `${base}/volumes`, {
      name: 'shared',
      storageClassName: 'local-host',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      parameters: { hostPath, createIfMissing: 'true' },
    });
    const script =
      'echo "$KEDGE_INSTANCE" >/shared/who; echo up >/own/up; while :; do date +%s%N >/own/beat; sleep 0.1; done';
    await daemon.ok(
      'POST',
      `${base}/services`,
      service('app', script, {
        volumes: [
          { name: 'shared', mountPath: '/shared', claim: { name: 'shared' } },
          {
            name: 'own',
            mountPath: '/own',
            claimTemplate: {
              storageClassName: 'local',
              size: '10Mi',
              accessMode: 'ReadWriteOnce',
              retention: { whenDeleted: 'delete' },
            },
          },
        ],
      }),
    );
    const before = await running('app-0');
    const uid = String((before.metadata as { uid: string }).uid);
    expect(before.containerId).to.match(/^[0-9a-f]{64}$/);
    expect(condition(before, 'ContainersReady')?.message).to.equal(
      `container ${String(before.containerId).slice(0, 12)}`,
    );
    await eventually(
      'the file',
      async () => (await readFile(join(hostPath, 'who'), 'utf8').catch(() => '')) === 'app-0\n',
    );
    const mounts = before.mounts as { name: string; source: string }[];
    const own = mounts.find(({ name }) => name === 'own')?.source ?? '';
    const beat = () => readFile(join(own, 'beat'), 'utf8');
    await daemon.end('SIGKILL');
    const lastBeat = await beat();
    await eventually('the container to continue', async () => (await beat()) !== lastBeat);
    await daemon.run();
    const after = await eventually('the instance to be observed again', async () => {
      const body = await instance('app-0');
      return body.status === 'Running' ? body : undefined;
    });
    expect(after.containerId).to.equal(before.containerId);
    expect(after.restartCount).to.equal(0);
    const [only = '', ...more] = containers();
    expect(only).to.match(new RegExp(`^kedge-[0-9a-f]{8}-${uid}-1 running$`));
    expect(more).to.deep.equal([]);

    const exec = await daemon.cli('exec', 'app-0', '--', 'cat', '/own/up');
    expect([exec.code, exec.stdout]).to.deep.equal([0, 'up\n']);

    await gone('app');
    expect(containers()).to.deep.equal([]);
    const left = (await readMountTable()).filter(({ target }) => target.startsWith(daemon.home));
    expect(left).to.deep.equal([]);
    expect(await readFile(join(hostPath, 'who'), 'utf8')).to.equal('app-0\n');
  });

  it('is restarted when it fails, with its exit code and its log, and is stopped by a graceful stop of the daemon', async () => {
    await daemon.ok('POST', `${base}/services`, service('loop', 'echo run; exit 4'));
    const failed = await eventually('two runs', async () => {
      const body = await instance('loop-0').catch(() => undefined);
      return body && Number(body.restartCount) >= 1 && body.status === 'Failed' ? body : undefined;
    });
    expect(failed.exitCode).to.equal(4);
    // Of the last two runs; the last may have printed nothing yet.
    await eventually('the output of two runs', async () => {
      const { stdout } = await daemon.cli('logs', 'loop');
      return stdout.split('\n').filter((line) => line.endsWith('run')).length >= 2;
    });
    await gone('loop');
    await daemon.ok('POST', `${base}/services`, service('steady', 'exec sleep 600'));
    await running('steady-0');
    await daemon.end('SIGTERM');
    expect(containers().filter((line) => line.endsWith(' running'))).to.deep.equal([]);
    await daemon.run();
    const again = await running('steady-0');
    expect(again.restartCount).to.equal(1);
    await gone('steady');
  });

  it('a registry that does not answer, a missing image and a missing command are reported', async () => {
    await daemon.ok('POST', `${base}/services`, {
      ...service('imageless', ''),
      image: '127.0.0.1:1/none:1',
    });
    const message = await eventually('the failure', async () => {
      const body = await instance('imageless-0').catch(() => undefined);
      return textOf(body ?? {}, 'failureMessage') || undefined;
    });
    expect(message).to.match(
      /^can't be started: image 127\.0\.0\.1:1\/none:1 can't be pulled: .*connection refused/,
    );
    await gone('imageless');
    await daemon.ok('POST', `${base}/services`, {
      ...service('never', ''),
      image: 'kedge-test/none:1',
      imagePull: 'never',
    });
    const never = await eventually('the failure', async () => {
      const body = await instance('never-0').catch(() => undefined);
      return textOf(body ?? {}, 'failureMessage') || undefined;
    });
    expect(never).to.match(/is not on the node of the instance, and imagePull is never; load it/);
    await gone('never');
    await daemon.ok('POST', `${base}/services`, {
      ...service('wordless', ''),
      command: ['/no/such/program'],
    });
    const wordless = await eventually('the failure', async () => {
      const body = await instance('wordless-0').catch(() => undefined);
      return textOf(body ?? {}, 'failureMessage') || undefined;
    });
    expect(wordless).to.match(/can't be started: exec \/no\/such\/program failed: No such file/);
    await gone('wordless');
    expect(containers()).to.deep.equal([]);
  });

  it('is reported while the engine is unavailable, and continues when the engine answers again', async () => {
    await daemon.ok('POST', `${base}/services`, service('waits', 'exec sleep 600'));
    const before = await running('waits-0');
    await engine.killDockerd();
    await daemon.crash();
    await eventually(
      'the condition, with its remedy',
      async () => {
        const ready = condition(await instance('waits-0'), 'Ready');
        return (
          ready?.reason === 'RuntimeUnavailable' &&
          ready.message.includes(engine.socketPath) &&
          /start the engine|does not exist/.test(ready.message)
        );
      },
      90_000,
    );
    await engine.startDockerd();
    const after = await eventually(
      'the instance to be ready again',
      async () => {
        const body = await instance('waits-0');
        return condition(body, 'Ready')?.reason === 'Running' ? body : undefined;
      },
      90_000,
    );
    expect(after.containerId).to.equal(before.containerId);
    expect(after.restartCount).to.equal(0);
    await gone('waits');
  });

  it('a volume of a block device is not detached while a container uses it, and the message names the holder', async () => {
    const mounted = join(daemon.home, 'host', 'held');
    await mkdir(mounted, { recursive: true });
    await writeFile(join(mounted, 'file'), '');
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'image',
      driver: 'local',
      parameters: { backing: 'image' },
    });
    await daemon.ok('POST', `${base}/services`, {
      ...service('disk', 'echo data >/disk/file; exec sleep 600'),
      volumes: [
        {
          name: 'disk',
          mountPath: '/disk',
          claimTemplate: {
            storageClassName: 'image',
            size: '32Mi',
            accessMode: 'ReadWriteOnce',
            retention: { whenDeleted: 'delete' },
          },
        },
      ],
    });
    const body = await running('disk-0');
    const [{ source = '' } = {}] = body.mounts as { source: string }[];
    // A container of another program that has the volume mounted.
    const other = engine.docker(
      ...['run', '--detach', '--network', 'none', '--volume', `${source}:/x`],
      ...['--name', 'kedge-test-holder', busyboxImage, 'sleep', '600'],
    );
    await daemon.ok('DELETE', `${base}/services/disk`);
    const held = await eventually(
      'the refusal',
      async () => {
        const found = await instance('disk-0').catch(() => undefined);
        return found && condition(found, 'Ready')?.reason === 'DetachFailed'
          ? condition(found, 'Ready')?.message
          : undefined;
      },
      60_000,
    );
    expect(held).to.match(/held by container kedge-test-holder, .*stays attached/);
    expect(execFileSync('losetup', ['--list'], { encoding: 'utf8' })).to.include(daemon.home);
    engine.docker('rm', '--force', other);
    await eventually(
      'the service to be gone',
      async () => {
        return (await daemon.rest('GET', `${base}/services/disk`)).status === 404;
      },
      120_000,
    );
    expect(execFileSync('losetup', ['--list'], { encoding: 'utf8' })).not.to.include(daemon.home);
  });
});
