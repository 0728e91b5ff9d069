import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, chown, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { ContainerRuntime, EngineClient } from '@kedge/controllers';
import { type Logger, systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../acceptance/daemon.js';
import { cleanUp } from '../drivers/devices.js';
import { busyboxImage, RealEngine, requireEngine } from './engine.js';
import { seed } from '../fixtures/seed.js';

const base = '/v1/namespaces/default';
const withoutDenylist = fileURLToPath(new URL('kedged-without-denylist.js', import.meta.url));
/** A user without rights, but in the group of the engine's socket. */
const uid = 12_345;
const nothing = (): void => undefined;
const silent: Logger = {
  ...{ debug: nothing, info: nothing, warn: nothing, error: nothing },
  child: () => silent,
};

/** The targets of claims. A claim has reached one if it can read `file` in the directory `path`. */
const targets = [
  { name: 'socket', path: 'engine', file: 'docker.sock' },
  { name: 'data', path: 'data', file: 'kek' },
  { name: 'parent', path: '.', file: 'data/kek' },
  { name: 'volumes', path: 'data/volumes', file: '.' },
] as const;

/** Number of claims whose success without the denylist is tested; all with `npm run soak -- container-attacks`. */
const shown = process.env['KEDGE_CONTAINER_CLAIMS'] ?? '2';

const ways = ['directly', 'by a link', 'by a mount'] as const;
type Way = (typeof ways)[number];
const allClaims = targets.flatMap((target) => ways.map((how) => ({ target, how })));
/** Returns all claims, or `count` consecutive ones from one that the seed selects. */
function claimsOf(count: string): typeof allClaims {
  const at = seed % allClaims.length;
  const turned = [...allClaims.slice(at), ...allClaims.slice(0, at)];
  return turned.slice(0, count === 'all' ? undefined : Number(count));
}

describe('attacks by claims of local-host volumes', function () {
  this.timeout(180_000);
  let engine: RealEngine;
  let sockets: string;
  let socketPath: string;

  before(async function () {
    requireEngine(this);
    // The engine refuses binds of its own data, which are beside its other socket.
    sockets = await mkdtemp(join(tmpdir(), 'kedge-sock-'));
    await chmod(sockets, 0o755);
    socketPath = join(sockets, 'docker.sock');
    const args = ['--group', String(uid), '--host', `unix://${socketPath}`];
    engine = await RealEngine.start({ args });
  });
  after(async () => {
    await engine?.stop();
    if (sockets) await rm(sockets, { recursive: true });
  });

  /** Starts a daemon whose allowlist has its home and the directory of the engine's socket. */
  async function daemonOf(who: string, program?: string): Promise<TestDaemon> {
    const isRoot = who === 'root';
    const environment: Record<string, string> = {};
    const daemon = await TestDaemon.start({
      ...(program !== undefined && { program }),
      environment,
      prefix: isRoot
        ? []
        : ['setpriv', '--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups', '--'],
      prepare: async (data) => {
        const home = dirname(data);
        environment['KEDGE_RUNTIME_DOCKER_SOCKET'] = socketPath;
        const allowed = [home, sockets, engine.directory];
        environment['KEDGE_STORAGE_HOST_PATH_ALLOWLIST'] = allowed.join(',');
        await mkdir(join(home, 'host'));
        if (!isRoot) for (const path of [home, join(home, 'host')]) await chown(path, uid, uid);
      },
    });
    await writeFile(join(daemon.data, 'kek'), 'key');
    return daemon;
  }

  /** Claims a volume of the target in one of the ways. Returns the output of its workload, or the refusal. */
  async function attempt(
    daemon: TestDaemon,
    { name, path, file }: (typeof targets)[number],
    how: Way,
  ): Promise<{ readonly reached: boolean; readonly message: string }> {
    const volume = `${name}-${how.at(-1) ?? ''}`;
    const there = path === 'engine' ? sockets : join(daemon.home, path);
    const link = join(daemon.home, 'host', volume);
    if (how === 'by a link') await symlink(there, link);
    if (how === 'by a mount') {
      await mkdir(link);
      execFileSync('mount', ['--bind', there, link]);
    }
    try {
      return await outcomeOf(daemon, volume, how === 'directly' ? there : link, file);
    } finally {
      if (how === 'by a mount') execFileSync('umount', ['--lazy', link]);
    }
  }

  async function outcomeOf(
    daemon: TestDaemon,
    volume: string,
    hostPath: string,
    file: string,
  ): Promise<{ readonly reached: boolean; readonly message: string }> {
    const answer = await daemon.rest('POST', `${base}/volumes`, {
      ...{ name: volume, storageClassName: 'local-host', size: '1Gi' },
      ...{ accessMode: 'ReadWriteOnce', parameters: { hostPath } },
    });
    if (answer.status !== 200) return { reached: false, message: String(answer.body.message) };
    await daemon.ok('POST', `${base}/services`, {
      ...{ name: volume, image: busyboxImage, terminationGracePeriodSeconds: 0 },
      command: ['sh', '-c', `test -e /m/${file} && echo reached; exec sleep 600`],
      volumes: [{ name: 'm', mountPath: '/m', claim: { name: volume } }],
    });
    const outcome = await eventually(
      `the outcome of ${volume}`,
      async () => {
        const { stdout } = await daemon.cli('logs', `${volume}-0`);
        if (stdout.includes('reached')) return { reached: true, message: '' };
        const { body } = await daemon.rest('GET', `${base}/volumes/${volume}`);
        const { message = '' } = (body.lastOperation ?? {}) as { message?: string };
        return message === '' ? undefined : { reached: false, message };
      },
      60_000,
    );
    // Another volume of the same directory waits while this one is used.
    await daemon.ok('DELETE', `${base}/services/${volume}`);
    await eventually(
      `the end of ${volume}`,
      async () => (await daemon.rest('GET', `${base}/services/${volume}`)).status === 404,
      60_000,
    );
    return outcome;
  }

  for (const who of ['root', 'an ordinary user'])
    describe(`under a daemon of ${who}`, () => {
      for (const [what, program] of [
        ['succeed without the denylist', withoutDenylist],
        ['fail', undefined],
      ] as const)
        it(what, async () => {
          const daemon = await daemonOf(who, program);
          try {
            const claims = claimsOf(program === undefined ? 'all' : shown);
            for (const { target, how } of claims) {
              const { reached, message } = await attempt(daemon, target, how);
              const context = `${target.name} ${how}: ${message}`;
              expect(reached, context).to.equal(program !== undefined);
              if (!reached) expect(message, context).to.contain('no workload may reach');
            }
            console.log(
              `      ${claims.length} of ${allClaims.length} claims of ${who}, KEDGE_SEED=${seed}`,
            );
          } finally {
            await daemon.end('SIGTERM');
            await cleanUp(daemon.home);
            await daemon.dispose();
          }
        });
    });

  it("the engine's data directory is denied as the engine reports it, directly and by a link", async () => {
    const daemon = await daemonOf('root');
    const claim = async (name: string, hostPath: string) => {
      const parameters = { hostPath };
      const { status, body } = await daemon.rest('POST', `${base}/volumes`, {
        ...{ name, storageClassName: 'local-host', size: '1Gi', parameters },
        accessMode: 'ReadWriteOnce',
      });
      if (status !== 200) return String(body.message);
      return eventually(
        `the outcome of ${name}`,
        async () => {
          const found = await daemon.ok('GET', `${base}/volumes/${name}`);
          if (found.status === 'Available') return 'provisioned';
          const { message = '' } = (found.lastOperation ?? {}) as { message?: string };
          return message === '' ? undefined : message;
        },
        60_000,
      );
    };
    try {
      const data = join(engine.directory, 'data');
      const link = join(daemon.home, 'host', 'link');
      await symlink(join(data, 'containers'), link);
      for (const [name, path] of [
        ['own', data],
        ['below', join(data, 'containers')],
        ['link', link],
      ] as const)
        expect(await claim(name, path)).to.contain('the data directory of the container engine');
    } finally {
      await daemon.end('SIGTERM');
      await cleanUp(daemon.home);
      await daemon.dispose();
    }
  });

  it('a source that was replaced by a link is followed by the engine, and refused by Kedge', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-swap-'));
    const runtime = new ContainerRuntime({
      engine: new EngineClient({ socketPath: engine.socketPath, clock: systemClock }),
      cluster: randomUUID(),
      directory: join(folder, 'containers'),
      clock: systemClock,
      logger: silent,
    });
    const id = randomUUID();
    try {
      for (const name of ['victim', 'shared/own'])
        await mkdir(join(folder, name), { recursive: true });
      await writeFile(join(folder, 'victim/secret'), 'theirs');
      const source = join(folder, 'shared/own');
      await rename(source, join(folder, 'shared/before'));
      await symlink(join(folder, 'victim'), source);
      const run = ['run', '--rm', '--network=none', '--volume', `${source}:/m`, busyboxImage];
      expect(engine.docker(...run, 'cat', '/m/secret')).to.equal('theirs');

      const mounts = [{ source, target: '/m', readOnly: false }];
      const command = ['cat', '/m/secret'];
      await runtime.start({ id, image: busyboxImage, command, env: {}, mounts });
      const state = await eventually('the refusal', async () => {
        const found = await runtime.observe(id);
        return found.state === 'startFailed' ? found : undefined;
      });
      expect(state.message).to.contain(`its source ${source} leads to ${folder}/victim`);
      expect(engine.docker('ps', '--all', '--quiet')).to.equal('');
    } finally {
      await runtime.remove(id);
      runtime.close();
      await rm(folder, { recursive: true });
    }
  });
});
