import { spawnSync } from 'node:child_process';
import { chmod, chown, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { dataFilesDirectory } from '@kedge/controllers';
import { readMountTable } from '@kedge/driver-sdk';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from '../engine.js';
import { half } from '../../fixtures/seed.js';

const base = '/v1/namespaces/default';
/** Uid of a user of the node that has no rights to the files. */
const stranger = 54_321;

const users = [
  { who: 'root', uid: 0 },
  { who: 'an ordinary user', uid: 12_345 },
] as const;

for (const { who, uid } of half('mounted data of containers', users, (user) => user.who))
  describe(`secretMounts and configmapMounts of containers under a kedged of ${who}`, function () {
    this.timeout(300_000);
    let engine: RealEngine;
    let daemon: TestDaemon;

    before(async function () {
      requireEngine(this);
      engine = await RealEngine.start({ args: ['--group', String(uid)] });
      await chmod(engine.directory, 0o711);
      daemon = await TestDaemon.start({
        prefix: ['setpriv', '--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups', '--'],
        environment: {
          KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath,
          KEDGE_CONTROLLERS_WORKLOAD_PROBE_MS: '1000',
        },
        prepare: (data) => chown(dirname(data), uid, uid),
      });
      await daemon.ok('POST', `${base}/secrets`, secret('first-password'));
      await daemon.ok('POST', `${base}/configmaps`, { name: 'look', data: { 'a.css': 'red' } });
    });
    after(async () => {
      await daemon?.dispose();
      await engine?.stop();
    });

    const secret = (password: string): object => ({ name: 'login', data: { password } });

    /** Casts a service whose container runs as a user, and returns the uid of its instance. */
    async function started(name: string, user: string): Promise<string> {
      await daemon.ok('POST', `${base}/services`, {
        ...{ name, user, image: busyboxImage, command: ['sleep', '600'] },
        secretMounts: [
          {
            ...{ name: 'login', mountPath: '/run/login' },
            items: [{ key: 'password', path: 'deep/password' }],
          },
        ],
        configmapMounts: [{ name: 'look', mountPath: '/srv/look' }],
        terminationGracePeriodSeconds: 0,
      });
      const { metadata } = await eventually(
        `${name} to run`,
        async () => {
          const { body } = await daemon.rest('GET', `${base}/instances/${name}-0`);
          return body.status === 'Running' ? body : undefined;
        },
        60_000,
      );
      return (metadata as { uid: string }).uid;
    }
    async function inside(name: string, script: string): Promise<string> {
      const { stdout, stderr } = await daemon.cli('exec', `${name}-0`, '--', 'sh', '-c', script);
      return `${stdout}${stderr}`;
    }
    const untilOutput = (name: string, script: string, text: string) =>
      eventually(`${script}: ${text}`, async () => (await inside(name, script)) === text);

    for (const [name, user] of [
      ['of-root', '0:0'],
      ['of-another', '1000:1000'],
    ] as const)
      it(`are read-only files in memory, which user ${user} can read`, async () => {
        const id = await started(name, user);
        const folder = join(dataFilesDirectory(daemon.data), id);
        for (const [target, set, path, content] of [
          ['/run/login', 'secret-0', 'deep/password', 'first-password'],
          ['/srv/look', 'configmap-0', 'a.css', 'red'],
        ] as const) {
          expect(await inside(name, `cat ${target}/${path}`)).to.equal(content);
          const owner = `${uid} ${uid}`;
          expect(await inside(name, `stat -L -c '%a %u %g' ${target}/${path}`)).to.equal(
            `444 ${owner}\n`,
          );
          expect(await inside(name, `stat -c '%a %u %g' ${target}`)).to.equal(`755 ${owner}\n`);
          const mounted = await inside(name, `grep ' ${target} ' /proc/self/mountinfo`);
          expect(mounted).to.match(new RegExp(`/${set} ${target} ro[, ].* - tmpfs `));
          expect(await inside(name, `echo x >${target}/${path}`)).to.contain('Read-only');
          expect(await inside(name, `rm ${target}/${path.split('/')[0]}`)).to.contain('Read-only');
          const source = join(folder, set);
          const sources = engine.docker(
            ...['inspect', '--format', '{{range .Mounts}}{{.Source}} {{.RW}}\n{{end}}'],
            engine.docker('ps', '--quiet', '--filter', `label=svc.io/instance=${id}`),
          );
          expect(sources.split('\n')).to.include(`${source} false`);
          const memory = (await readMountTable()).find((each) => each.target === '/dev/shm');
          expect(memory?.fsType).to.equal('tmpfs');
          expect((await stat(source)).dev).to.equal((await stat('/dev/shm')).dev);
          const other = ['--reuid', `${stranger}`, '--regid', `${stranger}`, '--clear-groups'];
          const read = spawnSync('setpriv', [...other, 'cat', join(source, path)]);
          expect(String(read.stderr), 'another user of the node').to.contain('Permission denied');
        }
      });

    it('follow changes, also after a kill of kedged', async () => {
      const both = 'cat /run/login/deep/password; ls /srv/look';
      await daemon.ok('PUT', `${base}/secrets/login`, secret('second-password'));
      await daemon.ok('PUT', `${base}/configmaps/look`, { name: 'look', data: { c: 'new' } });
      for (const name of ['of-root', 'of-another'])
        await untilOutput(name, both, 'second-passwordc\n');
      await daemon.crash();
      await untilOutput('of-another', both, 'second-passwordc\n');
      await daemon.ok('PUT', `${base}/secrets/login`, secret('third-password'));
      for (const name of ['of-root', 'of-another'])
        await untilOutput(name, both, 'third-passwordc\n');
    });

    it('that another program removed are written again, and a removed directory is reported', async () => {
      const { body } = await daemon.rest('GET', `${base}/instances/of-another-0`);
      const { uid: id } = body.metadata as { uid: string };
      const folder = join(dataFilesDirectory(daemon.data), id);
      const both = 'cat /run/login/deep/password; ls /srv/look';
      const before = await inside('of-another', both);
      for (const path of [
        'secret-0/..data/deep/password',
        'secret-0/deep',
        'configmap-0/..data/c',
      ]) {
        await rm(join(folder, path));
        await untilOutput('of-another', both, before);
      }
      // kedged may write a file of it at the same time.
      await rm(join(folder, 'configmap-0'), { recursive: true, maxRetries: 10 });
      await eventually(
        'the report',
        async () =>
          JSON.stringify(
            (await daemon.rest('GET', `${base}/instances/of-another-0`)).body,
          ).includes('kedge restart instance/of-another-0'),
        30_000,
      );
    });

    it('are on no disk of kedged or of the engine, and are removed with their instances', async () => {
      const disks = [daemon.home, engine.directory];
      const found = spawnSync('grep', ['-rlsE', '(first|second|third)-password', ...disks], {
        encoding: 'utf8',
      });
      expect(found.stdout).to.equal('');
      const folder = dataFilesDirectory(daemon.data);
      for (const name of ['of-root', 'of-another'])
        await daemon.ok('DELETE', `${base}/services/${name}`);
      await eventually('the files to go', async () =>
        (await readdir(folder)).every((name) => name.startsWith('.')),
      );
    });

    it('the data directory of the engine, with the variables and output of all containers, is empty for processes', async () => {
      const directory = join(engine.directory, 'data');
      expect(await readdir(directory)).to.include('containers');
      await daemon.ok('POST', `${base}/services`, {
        ...{ name: 'reader', runtime: 'process', terminationGracePeriodSeconds: 0 },
        command: ['sh', '-c', `echo "found: $(ls -A ${directory} | wc -l)"; exec sleep 600`],
      });
      const text = await eventually('its output', async () => {
        const { stdout } = await daemon.cli('logs', 'reader-0');
        return stdout.includes('found:') ? stdout : undefined;
      });
      expect(text).to.contain('found: 0\n');
    });
  });
