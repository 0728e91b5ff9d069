import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { EngineClient, OneOffContainers } from '@kedge/controllers';
import { systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { root, TestDaemon } from '../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from './engine.js';

const base = '/v1/namespaces/default';
const program = fileURLToPath(new URL('kedged-with-blocks.js', import.meta.url));
/** A user without a name and without rights, but in the group of the engine's socket. */
const uid = 12_345;

describe('a kedged of an ordinary user who may use the engine', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let daemon: TestDaemon;
  let hostPath: string;

  before(async function () {
    requireEngine(this);
    engine = await RealEngine.start({ args: ['--group', String(uid)] });
    await chmod(engine.directory, 0o711);
    daemon = await TestDaemon.start({
      program,
      prefix: ['setpriv', '--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups', '--'],
      environment: {
        KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath,
        KEDGE_CONTROLLERS_DRIVER_BACKOFF_MAX_MS: '1000',
      },
      prepare: async (data) => {
        hostPath = join(dirname(data), 'host', 'shared');
        await mkdir(hostPath, { recursive: true });
        for (const path of [dirname(data), hostPath]) await chown(path, uid, uid);
      },
    });
    for (const [name, driver, parameters] of [
      ['image', 'local', { backing: 'image' }],
      ['block', 'loop-block', {}],
    ] as const)
      await daemon.ok('POST', '/v1/storageclasses', { name, driver, parameters });
  });
  after(async () => {
    await daemon?.dispose();
    await engine?.stop();
  });

  const bodyOf = async (path: string): Promise<Record<string, unknown>> =>
    (await daemon.rest('GET', `${base}/${path}`)).body;
  const running = (name: string) =>
    eventually(
      `${name} to run`,
      async () => {
        const body = await bodyOf(`instances/${name}`);
        return body.status === 'Running' ? body : undefined;
      },
      60_000,
    );
  const absent = (path: string) =>
    eventually(
      `${path} to be gone`,
      async () => (await daemon.rest('GET', `${base}/${path}`)).status === 404,
      60_000,
    );
  const cast = (name: string, script: string, volumes: readonly object[], user = '0:0') =>
    daemon.ok('POST', `${base}/services`, {
      ...{ name, image: busyboxImage, command: ['sh', '-c', script], user, volumes },
      terminationGracePeriodSeconds: 1,
    });
  const own = (storageClassName = 'local'): object => ({
    claimTemplate: {
      ...{ storageClassName, size: '16Mi', accessMode: 'ReadWriteOnce' },
      ...{ reclaimPolicy: 'delete', retention: { whenDeleted: 'delete' } },
    },
  });
  const volumeRoot = (): string => join(daemon.data, 'volumes');
  const containers = (): string => engine.docker('ps', '--all', '--format', '{{.Names}}');

  it('runs containers with its directories and those of the host, bound directly', async () => {
    await daemon.ok('POST', `${base}/volumes`, {
      name: 'shared',
      storageClassName: 'local-host',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      parameters: { hostPath },
    });
    await cast('app', 'echo host >/host/f; echo own >/own/f; exec sleep 600', [
      { name: 'host', mountPath: '/host', claim: { name: 'shared' } },
      { name: 'own', mountPath: '/own', ...own() },
    ]);
    const body = await running('app-0');
    const mounts = body.mounts as { name: string; source: string }[];
    const source = (name: string): string => mounts.find((m) => m.name === name)?.source ?? '';
    expect(source('host')).to.equal(hostPath);
    expect(source('own').startsWith(volumeRoot())).to.equal(true);
    await eventually(
      'the files',
      async () =>
        (await readFile(join(hostPath, 'f'), 'utf8').catch(() => '')) === 'host\n' &&
        (await readFile(join(source('own'), 'f'), 'utf8').catch(() => '')) === 'own\n',
    );
    expect((await stat(join(source('own'), 'f'))).uid).to.equal(0);

    // The files of root are removed with the volume, those of the host are kept.
    await daemon.ok('DELETE', `${base}/services/app`);
    await absent('services/app');
    await absent('volumes/own-app-0');
    expect(await readdir(volumeRoot())).not.to.include(source('own').split('/').at(-1));
    expect(await readFile(join(hostPath, 'f'), 'utf8')).to.equal('host\n');
    expect(containers()).to.equal('');
  });

  it('passes signals on to a command of kedge exec, and ends it with its connection', async () => {
    await cast('signals', 'exec sleep 600', []);
    const { containerId } = await running('signals-0');
    const script = 'trap "echo caught; exit 5" INT; echo ready; while :; do sleep 0.1; done';
    const start = (
      ...command: readonly string[]
    ): { child: ChildProcess; output: () => string } => {
      const args = [join(root, 'cmd/bin/kedge.mjs'), 'exec', 'signals-0', '--', ...command];
      const env = { ...process.env, ...daemon.cliEnvironment };
      const child = spawn(process.execPath, args, { env });
      let text = '';
      child.stdout.on('data', (data) => (text += String(data)));
      child.stderr.on('data', (data) => (text += String(data)));
      return { child, output: () => text };
    };
    const trapped = start('sh', '-c', script);
    await eventually('the command', () => trapped.output().includes('ready'));
    const ended = once(trapped.child, 'close');
    trapped.child.kill('SIGINT');
    expect((await ended)[0], trapped.output()).to.equal(5);
    expect(trapped.output()).to.contain('caught');

    const processes = (): string => engine.docker('top', String(containerId), '-o', 'pid,args');
    const deaf = start('sleep', '601');
    await eventually('its process', () => processes().includes('sleep 601'));
    deaf.child.kill('SIGKILL');
    await eventually('its end', () => !processes().includes('sleep 601'), 30_000);
    await daemon.ok('DELETE', `${base}/services/signals`);
    await absent('services/signals');
  });

  for (const mode of ['500', '300', '0'])
    it(`removes its own files also from directories of mode ${mode}`, async () => {
      const script = `mkdir -p /own/d/e; echo x >/own/d/e/f; chmod ${mode} /own/d/e /own/d; exec sleep 600`;
      const name = `closed-${mode}`;
      const mount = { name: 'own', mountPath: '/own', ...own() };
      await cast(name, script, [mount], `${uid}:${uid}`);
      const body = await running(`${name}-0`);
      const [{ source = '' } = {}] = body.mounts as { source: string }[];
      await eventually('the mode', async () => {
        const found = await stat(join(source, 'd')).catch(() => undefined);
        return found && (found.mode & 0o777).toString(8) === mode;
      });
      expect((await stat(join(source, 'd/e/f'))).uid).to.equal(uid);
      await daemon.ok('DELETE', `${base}/services/${name}`);
      await absent(`services/${name}`);
      await absent(`volumes/own-${name}-0`);
      expect(await readdir(volumeRoot())).not.to.include(source.split('/').at(-1));
      expect(containers()).to.equal('');
    });

  it('runs one-off containers beside those of another agent, each once, and none is left', async () => {
    const directory = join(daemon.home, 'once');
    await mkdir(directory);
    const agents = ['one', 'two'].map((node) => {
      const client = new EngineClient({ socketPath: engine.socketPath, clock: systemClock });
      const { signal } = new AbortController();
      const options = { engine: client, cluster: 'c', node, clock: systemClock };
      const once = new OneOffContainers({ ...options, uuid: randomUUID });
      return async (): Promise<void> => {
        for (let n = 0; n < 3; n += 1) {
          // The first containers of both wait until they run at the same time.
          const wait = `until [ -e /target/one ] && [ -e /target/two ]; do sleep 0.05; done`;
          const script = `echo ${node} >>/target/runs; touch /target/${node}; ${wait}`;
          await once.run({ command: ['sh', '-c', script], directory }, signal);
        }
      };
    });
    const labels = ['--label', 'svc.io/cluster=c', '--label', 'svc.io/once=one'];
    engine.docker('create', ...labels, busyboxImage, 'true');
    await Promise.all(agents.map((run) => run()));
    const runs = (await readFile(join(directory, 'runs'), 'utf8')).trim().split('\n');
    expect(runs.sort()).to.deep.equal(['one', 'one', 'one', 'two', 'two', 'two']);
    expect(containers()).to.equal('');
  });

  it('fsUser and fsGroup give a directory to another user, who can write to it', async () => {
    const mount = { name: 'own', mountPath: '/own', fsUser: 4_321, fsGroup: 4_321, ...own() };
    await cast(
      'given',
      'mkdir -m 700 /own/d; echo x >/own/d/f; exec sleep 600',
      [mount],
      '4321:4321',
    );
    const body = await running('given-0');
    await eventually(
      'the file',
      () => engine.docker('exec', String(body.containerId), 'cat', '/own/d/f') === 'x',
    );
    const [{ source = '' } = {}] = body.mounts as { source: string }[];
    const { uid: owner, gid, mode } = await stat(source);
    expect([owner, gid, mode & 0o7777]).to.deep.equal([4_321, 4_321, 0o2775]);
    await daemon.ok('DELETE', `${base}/services/given`);
    await absent('services/given');
    await absent('volumes/own-given-0');
  });

  it('without the engine a directory with files of others is kept complete, and the message has the command to run', async () => {
    await daemon.ok('POST', `${base}/volumes`, {
      ...{ name: 'kept', storageClassName: 'local', size: '16Mi' },
      ...{ accessMode: 'ReadWriteOnce', reclaimPolicy: 'delete' },
    });
    await cast('kept', 'mkdir -m 700 /own/d; echo x >/own/d/f; exec sleep 600', [
      { name: 'own', mountPath: '/own', claim: { name: 'kept' } },
    ]);
    const body = await running('kept-0');
    const [{ source = '' } = {}] = body.mounts as { source: string }[];
    await writeFile(join(source, 'of-root'), '');
    await daemon.ok('DELETE', `${base}/services/kept`);
    await absent('services/kept');
    await engine.killDockerd();
    await daemon.ok('DELETE', `${base}/volumes/kept`);
    const refusal = await eventually(
      'the refusal',
      async () => {
        const { lastOperation } = await bodyOf('volumes/kept');
        const { message = '' } = (lastOperation ?? {}) as { message?: string };
        return message.includes('sudo rm -rf') ? message : undefined;
      },
      60_000,
    );
    const [, path = ''] = /type: sudo rm -rf (\S+)/.exec(refusal) ?? [];
    expect(path.startsWith(volumeRoot()), refusal).to.equal(true);
    expect((await readdir(path)).sort()).to.deep.equal(['d', 'of-root']);
    expect(await readFile(join(path, 'd', 'f'), 'utf8')).to.equal('x\n');
    await engine.startDockerd();
    await absent('volumes/kept');
    expect(containers()).to.equal('');
  });

  for (const storage of ['image', 'block'])
    it(`a volume that needs devices reports that it needs root: ${storage}`, async () => {
      await cast(storage, 'sleep 600', [{ name: 'disk', mountPath: '/disk', ...own(storage) }]);
      await eventually(
        'the refusal',
        async () => {
          const { conditions } = await bodyOf(`instances/${storage}-0`);
          return /needs? (kedged to run as root|a kedged that runs as root)/.test(
            JSON.stringify(conditions ?? []),
          );
        },
        60_000,
      ).catch(async (error: unknown) => {
        throw new Error(JSON.stringify(await bodyOf(`instances/${storage}-0`)), { cause: error });
      });
      await daemon.ok('DELETE', `${base}/services/${storage}`);
      await absent(`services/${storage}`);
    });
});
