import { expect } from 'chai';
import { seededRandom } from 'kedge';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../acceptance/daemon.js';
import { busyboxImage, RealEngine, requireEngine } from './engine.js';
import { initProcesses, RunningTwiceThread } from './running-twice.js';
import { seed } from '../fixtures/seed.js';

const base = '/v1/namespaces/default';
const isWhole = process.env['KEDGE_CONTAINER_KILLS'] === 'all';
const whole = { containers: 50, daemonKills: 20, engineKills: 5 };
const size = isWhole ? whole : { containers: 6, daemonKills: 3, engineKills: 1 };
/** Number of services that are replaced before each kill, so that starts are in progress at that time. */
const replaced = Math.ceil(size.containers / 10);
/** Prefix of an argument that the processes of workloads have. The name of the service follows it. */
const mark = `kedge-kills-${process.pid}-`;
/** Prints consecutive numbers. */
const script = 'n=0; while :; do n=$((n+1)); echo "line $n"; sleep 0.5; done';

const sizes = `${size.containers} of ${whole.containers} containers, ${size.daemonKills} of ${whole.daemonKills} kills of the daemon, ${size.engineKills} of ${whole.engineKills} of the engine`;

describe(`containers whose daemon and engine are killed: ${sizes}, seed ${seed}`, function () {
  this.timeout(3_600_000);
  let engine: RealEngine;
  let daemon: TestDaemon;
  let twice: RunningTwiceThread;
  const random = seededRandom(seed);
  const living: string[] = [];
  let created = 0;

  before(async function () {
    requireEngine(this);
    engine = await RealEngine.start();
    daemon = await TestDaemon.start({
      environment: { KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath },
    });
    twice = new RunningTwiceThread({ socketPath: engine.socketPath, mark });
  });
  after(async () => {
    await twice?.close();
    await daemon?.dispose();
    await engine?.stop();
  });

  const create = async (): Promise<void> => {
    created += 1;
    const name = `w${created}`;
    await daemon.ok('POST', `${base}/services`, {
      name,
      image: busyboxImage,
      command: ['/bin/sh', '-c', script, `${mark}${name}`],
      terminationGracePeriodSeconds: 1,
    });
    living.push(name);
  };
  const replaceSome = async (): Promise<void> => {
    for (let n = 0; n < replaced; n += 1) {
      const [name = ''] = living.splice(Math.floor(random.next() * living.length), 1);
      await daemon.ok('DELETE', `${base}/services/${name}`);
      await create();
    }
  };
  /** A moment after the writes: most starts take less than half a second each. */
  const anyMoment = (): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(resolve, random.next() * 1_500);
    });
  const allRunning = (): Promise<ReadonlyMap<string, string>> =>
    eventually(
      'all instances to run, and no others',
      async () => {
        const items = await daemon.list(`${base}/instances`);
        const names = items.map(({ name }) => String(name)).sort();
        const expected = living.map((name) => `${name}-0`).sort();
        const others = items.filter(({ status }) => status !== 'Running');
        if (others.length > 0 || names.join() !== expected.join())
          throw new Error(`${JSON.stringify(others.slice(0, 3))}; ${items.length} instances`);
        return new Map(items.map(({ name, containerId }) => [String(name), String(containerId)]));
      },
      180_000,
    );
  const check = async (after: string): Promise<void> => {
    for (const item of await daemon.list(`${base}/instances`))
      expect(
        Number(item.restartCount ?? 0),
        `restarts of ${String(item.name)} after ${after}`,
      ).to.equal(0);
    const uids = engine
      .docker('ps', '--format', '{{.Label "svc.io/instance"}}')
      .split('\n')
      .filter(Boolean);
    expect(uids, `containers after ${after}`).to.have.lengthOf(living.length);
    expect(new Set(uids).size, `uids after ${after}`).to.equal(living.length);
    expect((await twice.report()).found, `until ${after}`).to.deep.equal([]);
    expect([...initProcesses(mark)].sort(), `processes after ${after}`).to.deep.equal(
      living.map((name) => [name, 1]).sort(),
    );
  };

  it('no uid has two running containers, no restart is counted, and no line of a log is lost', async () => {
    const kills = [
      ...Array.from({ length: size.daemonKills }, () => 'daemon' as const),
      ...Array.from({ length: size.engineKills }, () => 'engine' as const),
    ]
      .map((what) => ({ what, rank: random.next() }))
      .sort((a, b) => a.rank - b.rank);
    while (living.length < size.containers) await create();
    /** Ids of containers by instance, after the previous kill. */
    let seen: ReadonlyMap<string, string> = new Map();
    for (const [index, { what }] of kills.entries()) {
      // At the first kill all services are starting.
      if (index > 0) await replaceSome();
      await anyMoment();
      if (what === 'daemon') await daemon.crash();
      else {
        await engine.killDockerd();
        await engine.startDockerd();
      }
      const now = await allRunning();
      const step = `kill ${index + 1} of ${kills.length}, of the ${what}`;
      await check(step);
      for (const [name, container] of now)
        expect(seen.get(name) ?? container, `container of ${name} after ${step}`).to.equal(
          container,
        );
      seen = now;
    }
    for (const name of living) {
      const { stdout, stderr } = await daemon.cli('logs', `${name}-0`);
      const lines = stdout.trim().split('\n');
      expect(lines, stderr).to.deep.equal(lines.map((_, index) => `line ${index + 1}`));
    }
    const during = await twice.report();
    console.log(`      no uid with two running containers in ${during.size}`);
    expect(during.found, 'during the kills').to.deep.equal([]);
    const [name = ''] = living;
    const { metadata } = (await daemon.rest('GET', `${base}/instances/${name}-0`)).body;
    const { uid } = metadata as { readonly uid: string };
    const label = `svc.io/instance=${uid}`;
    const args = ['--detach', '--init', '--network', 'none', '--label', label, busyboxImage];
    const second = engine.docker('run', ...args, '/bin/sh', '-c', script, `${mark}${name}`);
    await eventually('the check to find a second container', async () => {
      const { found } = await twice.report();
      const wanted = [`${name} has 2 running processes`, `${uid} has 2 running containers`];
      return wanted.every((line) => found.includes(line));
    });
    engine.docker('rm', '--force', second);

    for (const each of living) await daemon.ok('DELETE', `${base}/services/${each}`);
    await eventually(
      'no container to be left',
      () => engine.docker('ps', '--all', '--quiet') === '',
      120_000,
    );
    expect(initProcesses(mark).size).to.equal(0);
  });
});
