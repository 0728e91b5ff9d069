import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { dataFilesDirectory } from '@kedge/controllers';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../acceptance/daemon.js';
import { cleanUp, requireDevices } from '../drivers/devices.js';
import { addSetuid, AttackMachine, attackerImage, makeAttackerImage } from './attack-machine.js';
import { type Attack, attacks, attackScript, type Measure, reachedIn } from './attacks.js';
import { RealEngine, requireEngine } from './engine.js';

const base = '/v1/namespaces/default';
const program = fileURLToPath(new URL('kedged-with-blocks.js', import.meta.url));
/** A user without rights, but in the group of the engine's socket. */
const uid = 12_345;
const attackers = ['0', '1000'];

const moreCapabilities = ['SYS_ADMIN', 'SYS_PTRACE', 'SYS_NICE', 'DAC_READ_SEARCH'].map(
  (name) => `--cap-add=${name}`,
);

type Who = 'root' | 'an ordinary user';
/** The classes of the volumes that a daemon gives to containers, by their mount. */
const classes: Readonly<Record<Who, Readonly<Record<string, string>>>> = {
  root: { own: 'local', image: 'image', block: 'block', host: 'local-host' },
  'an ordinary user': { own: 'local', host: 'local-host' },
};

describe('attacks from containers', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let machine: AttackMachine;

  before(async function () {
    requireEngine(this);
    requireDevices(this);
    engine = await RealEngine.start({ args: ['--group', String(uid)] });
    await chmod(engine.directory, 0o711);
    machine = await AttackMachine.start();
    await makeAttackerImage(engine);
  });
  after(async () => {
    await machine?.stop();
    await engine?.stop();
  });

  for (const who of ['root', 'an ordinary user'] as const)
    describe(`under a daemon of ${who}`, () => {
      let daemon: TestDaemon;
      let variables: Readonly<Record<string, string>>;
      let first = '';
      const sources = new Map<string, ReadonlyMap<string, string>>();
      const mounts = Object.entries(classes[who]);

      before(async () => {
        const prefix =
          who === 'root'
            ? []
            : ['setpriv', '--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups', '--'];
        daemon = await TestDaemon.start({
          program,
          prefix,
          environment: { KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath },
          prepare: async (data) => {
            await mkdir(join(dirname(data), 'host'));
            if (who !== 'root')
              for (const path of [dirname(data), join(dirname(data), 'host')])
                await chown(path, uid, uid);
          },
        });
        for (const [name, driver, parameters] of [
          ['image', 'local', { backing: 'image' }],
          ['block', 'loop-block', { fsType: 'ext4' }],
        ] as const)
          await daemon.ok('POST', '/v1/storageclasses', { name, driver, parameters });
        await writeFile(join(daemon.data, 'kek'), 'key');
        // In the place of process 1 of the machine, whose root directory some machines hide from their root too.
        const sees = ['--volume', `${daemon.data}:${daemon.data}`, '--network=none'];
        first = engine.docker('run', '--detach', ...sees, attackerImage, 'sleep', '3600');
        await castOther();
        variables = {
          ...machine.variables,
          SOCKET: engine.socketPath,
          LOGS: join(engine.directory, 'data/containers'),
          DATA: daemon.data,
          DAEMON: String(daemon.pid),
          OTHER: sources.get('other-0')?.get('own') ?? '',
          SECRET: await secretFile(),
          VOLUMES: mounts.map(([name]) => `/${name}`).join(' '),
        };
        await writeFile(join(variables['OTHER'] ?? '', 'secret'), 'theirs');
        for (const attacker of attackers) await castAttacker(attacker);
      });
      after(async () => {
        if (first !== '') engine.docker('rm', '--force', first);
        await daemon?.end('SIGTERM');
        if (daemon) await cleanUp(daemon.home);
        await daemon?.dispose();
      });

      const script = (chosen: readonly Attack[]): string =>
        [
          ...Object.entries(variables).map(([name, value]) => `export ${name}='${value}'`),
          attackScript(chosen),
        ].join('\n');

      async function cast(name: string, service: object): Promise<void> {
        await daemon.ok('POST', `${base}/services`, {
          ...{ name, image: attackerImage, terminationGracePeriodSeconds: 0 },
          ...service,
        });
        const found = await eventually(
          `${name} to run`,
          async () => {
            const { body } = await daemon.rest('GET', `${base}/instances/${name}-0`);
            return body.status === 'Running' ? body : undefined;
          },
          60_000,
        );
        const bound = (found.mounts ?? []) as { name: string; source: string }[];
        sources.set(`${name}-0`, new Map(bound.map((each) => [each.name, each.source])));
      }

      async function castOther(): Promise<void> {
        await daemon.ok('POST', `${base}/secrets`, { name: 'login', data: { password: 'p' } });
        await cast('other', {
          command: ['sleep', '600'],
          volumes: [ownVolume('own')],
          secretMounts: [
            { name: 'login', mountPath: '/l', items: [{ key: 'password', path: 'password' }] },
          ],
        });
      }

      function ownVolume(name: string, more: object = {}): object {
        const claimTemplate = {
          storageClassName: 'local',
          size: '32Mi',
          accessMode: 'ReadWriteOnce',
        };
        return { name, mountPath: `/${name}`, claimTemplate, ...more };
      }

      async function secretFile(): Promise<string> {
        const folder = dataFilesDirectory(daemon.data);
        const names = await readdir(folder, { recursive: true });
        return join(folder, names.find((name) => name.endsWith('/password')) ?? 'missing');
      }

      const against = (user: string): readonly Attack[] =>
        attacks.filter(({ as }) => as === undefined || user !== '0');

      /** A workload that waits for `/own/go` and then makes all attacks. */
      async function castAttacker(user: string): Promise<void> {
        const name = `by-${user}`;
        for (const [mount, storageClassName] of mounts) {
          const hostPath = join(daemon.home, 'host', name);
          await daemon.ok('POST', `${base}/volumes`, {
            ...{ name: `${mount}-${name}`, storageClassName, size: '32Mi' },
            accessMode: 'ReadWriteOnce',
            ...(mount === 'host' && { parameters: { hostPath, createIfMissing: 'true' } }),
          });
        }
        const wait = 'while [ ! -e /own/go ]; do sleep 0.1; done';
        await cast(name, {
          command: ['sh', '-c', `${wait}\n${script(against(user))}\nexec sleep 600`],
          user: `${user}:${user}`,
          volumes: [
            ...mounts.map(([mount]) => ({
              ...{ name: mount, mountPath: `/${mount}` },
              claim: { name: `${mount}-${name}` },
            })),
            ownVolume('ro', { readOnly: true }),
          ],
        });
        for (const [mount] of mounts) {
          const source = sources.get(`${name}-0`)?.get(mount) ?? '';
          execFileSync('mknod', [join(source, 'node'), 'c', '1', '11']);
          await addSetuid(join(source, 'suid'));
          await symlink(daemon.data, join(source, 'link'));
        }
        await writeFile(join(sources.get(`${name}-0`)?.get('own') ?? '', 'go'), '');
      }

      /** Runs the attacks of a measure in a container without this measure. Returns the names of those that succeed. */
      function withoutMeasure(measure: Measure, as: Attack['as']): string[] {
        const chosen = attacks.filter((each) => each.measure === measure && each.as === as);
        const bind = (path: string, options = ''): string[] => [
          '--volume',
          `${path}:${path}${options}`,
        ];
        const secrets = dirname(variables['SECRET'] ?? '');
        const flags: Readonly<Record<Measure, readonly string[]>> = {
          'no view of the machine': [
            ...bind(variables['SOCKET'] ?? ''),
            ...bind(daemon.data),
            ...bind(secrets),
            // The engine binds its own data only with this propagation.
            ...bind(variables['LOGS'] ?? '', ':rslave'),
          ],
          'namespaces of processes': ['--pid=host'],
          'a first process of its own': [...moreCapabilities, `--pid=container:${first}`],
          'namespaces of the network': ['--network=host'],
          'namespaces of memory': ['--ipc=host'],
          capabilities: moreCapabilities,
          'capabilities, with the processes of the machine': [...moreCapabilities, '--pid=host'],
          'a filter of system calls': ['--security-opt=seccomp=unconfined'],
          'read-only settings of the kernel': ['--security-opt=systempaths=unconfined'],
          'read-only control groups': ['--volume', '/sys/fs/cgroup:/sys/fs/cgroup'],
          'a list of devices': [
            ...['--device=/dev/kmsg', '--device=/dev/loop-control', '--cap-add=SYSLOG'],
            '--device-cgroup-rule=c *:* rwm',
          ],
          'no raw sockets': ['--cap-add=NET_RAW'],
          'no device nodes': ['--cap-add=MKNOD'],
          'no new privileges': [],
          'a read-only mount': [],
          'a closed descriptor': ['--volume', '/:/machine', '--workdir', '/machine'],
        };
        const isOn = (name: Measure): boolean => name !== measure;
        const own = sources.get('by-0-0');
        const volumes = [...(own ?? [])].map(([mount, source]) => {
          const readOnly = mount === 'ro' && isOn('a read-only mount');
          return `${source}:/${mount}${readOnly ? ':ro' : ''}`;
        });
        const user = as === 'user' ? '1000:1000' : '0:0';
        const opened = measure === 'a closed descriptor' ? 'exec 9</machine\n' : '';
        const output = engine.docker(
          ...['run', '--rm', '--init', '--user', user],
          ...(isOn('namespaces of the network') ? ['--network=none'] : []),
          ...(isOn('no raw sockets') ? ['--cap-drop=NET_RAW'] : []),
          ...(isOn('no device nodes') ? ['--cap-drop=MKNOD'] : []),
          ...(isOn('no new privileges') ? ['--security-opt=no-new-privileges'] : []),
          ...volumes.flatMap((volume) => ['--volume', volume]),
          ...flags[measure],
          ...[attackerImage, 'sh', '-c', `${opened}${script(chosen)}`],
        );
        return reachedIn(output);
      }

      it('each succeeds in a container without the measure against it', () => {
        const kinds = new Map(
          attacks.map(({ measure, as }) => [`${measure} ${as}`, { measure, as }]),
        );
        for (const { measure, as } of kinds.values()) {
          const names = attacks
            .filter((each) => each.measure === measure && each.as === as)
            .map(({ name }) => name);
          expect(withoutMeasure(measure, as), measure).to.deep.equal(names);
        }
        console.log(`      ${attacks.length} attacks, each without its measure alone`);
      });

      for (const user of attackers)
        it(`all fail from the command and from exec, as uid ${user}`, async () => {
          const name = `by-${user}-0`;
          const logged = await eventually(
            'the attacks of the command',
            async () => {
              const { stdout } = await daemon.cli('logs', name);
              return stdout.includes('all tried') ? stdout : undefined;
            },
            60_000,
          );
          const command = ['sh', '-c', script(against(user))];
          const { stdout, stderr } = await daemon.cli('exec', name, '--', ...command);
          expect(stdout, stderr).to.contain('all tried');
          const reached = { command: reachedIn(logged), exec: reachedIn(stdout) };
          expect(reached).to.deep.equal({ command: [], exec: [] });
          console.log(`      ${against(user).length} attacks of uid ${user} from command and exec`);
        });

      for (const [mount] of mounts)
        it(`a subPath that is a link is not followed: ${mount}`, async () => {
          // The engine alone follows the link:
          const source = sources.get('by-0-0')?.get(mount) ?? '';
          const followed = [
            '--volume',
            `${join(source, 'link')}:/m`,
            attackerImage,
            'cat',
            '/m/kek',
          ];
          expect(engine.docker('run', '--rm', '--network=none', ...followed)).to.equal('key');
          const name = `linked-${mount}`;
          await daemon.rest('DELETE', `${base}/services/by-1000`);
          await daemon.ok('POST', `${base}/services`, {
            ...{ name, image: attackerImage, command: ['cat', '/m/kek'], restartPolicy: 'Never' },
            volumes: [
              { name: 'm', mountPath: '/m', subPath: 'link', claim: { name: `${mount}-by-1000` } },
            ],
          });
          const refusal = await eventually(
            'the refusal',
            async () => {
              const { body } = await daemon.rest('GET', `${base}/instances/${name}-0`);
              const text = JSON.stringify(body.conditions ?? []);
              return text.includes('link') ? text : undefined;
            },
            60_000,
          );
          expect(refusal).to.contain('is a symbolic link or not a directory');
          expect((await daemon.cli('logs', `${name}-0`)).stdout).to.equal('');
          await daemon.ok('DELETE', `${base}/services/${name}`);
        });
    });
});
