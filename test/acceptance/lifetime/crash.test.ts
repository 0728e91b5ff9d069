import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { finish, type SseEvent, TestDaemon, workload } from '../daemon.js';
import { seed } from '../../fixtures/seed.js';

const volumes = '/v1/namespaces/default/volumes';

/** A small seeded generator: the seed is printed, and KEDGE_SEED repeats it. */
function dice(): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
}

describe('a daemon that is killed', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  beforeEach(async () => {
    daemon = await TestDaemon.start();
  });
  afterEach(() => daemon.dispose());

  it(`converges after kill -9 at any moment while 500 volumes come and go (seed ${seed})`, async () => {
    const random = dice();
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'scratch',
      driver: 'local',
      reclaimPolicy: 'delete',
    });
    const { volume, service } = workload(daemon, 'steady', 'echo $$ >> /data/starts; sleep 1000');
    await daemon.ok('POST', volumes, volume);
    await daemon.ok('POST', '/v1/namespaces/default/services', service);
    const starts = join(daemon.home, 'host/steady/starts');
    await eventually('the workload', () => existsSync(starts));

    const created = new Set<string>();
    const deleted = new Set<string>();
    const unknown = new Set<string>();
    let next = 0;
    const attempt = async (method: string, name: string): Promise<void> => {
      const body = { name, storageClassName: 'scratch', size: '1Mi', accessMode: 'ReadWriteOnce' };
      try {
        const path = method === 'POST' ? volumes : `${volumes}/${name}`;
        const answer = await daemon.rest(method, path, method === 'POST' ? body : undefined);
        expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([200, 404, 409]);
        (method === 'POST' ? created : deleted).add(name);
      } catch (error) {
        // No answer: the daemon was killed before it could answer. The write happened or not.
        if (error instanceof Error && error.name === 'AssertionError') throw error;
        unknown.add(name);
        await daemon.answering();
      }
    };
    const worker = async (): Promise<void> => {
      while (next < 500) {
        const name = `v${next}`;
        next += 1;
        await attempt('POST', name);
        if (created.has(name) && random() < 0.5) await attempt('DELETE', name);
      }
    };
    let crashes = 0;
    const crasher = async (): Promise<void> => {
      for (const at of [100, 200, 300, 400].map((n) => n + Math.floor(random() * 80))) {
        await eventually('progress', () => next >= Math.min(at, 500), 60_000);
        if (next >= 500 && crashes > 0) return;
        await daemon.crash();
        crashes += 1;
      }
    };
    await Promise.all([...Array.from({ length: 8 }, worker), crasher()]);
    await daemon.crash();

    const settled = await eventually(
      'convergence',
      async () => {
        const all = (await daemon.list(volumes)).filter((v) => v.name !== 'steady');
        return all.every(
          (v) =>
            v.status === 'Available' &&
            (v.metadata as { deletionRequestedAt?: string }).deletionRequestedAt === undefined,
        )
          ? all
          : undefined;
      },
      60_000,
    );
    const names = new Set(settled.map((v) => String(v.name)));
    for (const name of created)
      if (!deleted.has(name) && !unknown.has(name)) expect(names.has(name), name).to.equal(true);
    for (const name of deleted) expect(names.has(name), `${name} was deleted`).to.equal(false);
    const wanted = settled.map((v) => (v.metadata as { uid: string }).uid).sort();
    const inRoot = await readdir(join(daemon.data, 'volumes'));
    const directories = inRoot.filter((name) => name !== '.kedge').sort();
    expect(directories).to.deep.equal(wanted);
    expect(created.size + unknown.size).to.be.greaterThan(499);
    expect((await readFile(starts, 'utf8')).trim().split('\n')).to.have.length(1);
    console.log(
      `      ${crashes + 1} crashes, ${created.size} created, ${deleted.size} deleted, ${unknown.size} unknown`,
    );
  });

  it('a watch resumed after the crash sees every later event once, in order', async () => {
    const create = (n: number) =>
      daemon.ok('POST', '/v1/namespaces', { name: `n${n}`, description: 'x' });
    for (let n = 0; n < 5; n += 1) await create(n);
    const revision = String((await daemon.ok('GET', '/v1/namespaces')).resourceVersion);
    const path = `/v1/namespaces?watch=true&resourceVersion=${revision}`;
    const reading = daemon.events(path, undefined, () => false);
    for (let n = 5; n < 15; n += 1) await create(n);
    await daemon.end('SIGKILL');
    const before = await reading;
    await daemon.run();
    for (let n = 15; n < 25; n += 1) await create(n);
    for (const n of [3, 17]) await daemon.ok('DELETE', `/v1/namespaces/n${n}`);
    const linesOf = (events: readonly SseEvent[]) =>
      events
        .filter((e) => e.event !== 'BOOKMARK')
        .map((e) => {
          const object = e.data.object as { name: string; metadata: { resourceVersion: string } };
          return `${e.event} ${object.name}@${object.metadata.resourceVersion}`;
        });
    const last = (events: readonly string[]) => events.some((e) => e.startsWith('DELETED n17@'));
    const whole = linesOf(await daemon.events(path, undefined, (e) => last(linesOf(e))));
    const resumeAt = before.filter((e) => e.id !== undefined).at(-1)?.id;
    const after = linesOf(await daemon.events(path, resumeAt, (e) => last(linesOf(e))));
    expect([...linesOf(before), ...after]).to.deep.equal(whole);
    const revisions = whole.map((e) => Number(e.split('@')[1]));
    expect(revisions).to.deep.equal([...revisions].sort((a, b) => a - b));
    expect(new Set(whole).size).to.equal(whole.length);
    for (let n = 5; n < 25; n += 1)
      expect(
        whole.some((e) => e.startsWith(`ADDED n${n}@`)),
        `n${n}`,
      ).to.equal(true);
  });

  it('adopts running workloads: the same process, its journal without a gap', async () => {
    const script = 'n=0; while :; do n=$((n+1)); echo $n >> /data/journal; sleep 0.05; done';
    const { volume, service } = workload(daemon, 'journal', script);
    await daemon.ok('POST', volumes, volume);
    await daemon.ok('POST', '/v1/namespaces/default/services', service);
    const running = () =>
      eventually('the instance', async () => {
        const answer = await daemon.rest('GET', '/v1/namespaces/default/instances/journal-0');
        return answer.body.status === 'Running' ? answer.body : undefined;
      });
    const first = await running();
    for (let n = 0; n < 3; n += 1) await daemon.crash();
    const again = await running();
    expect(again.pid).to.equal(first.pid);
    expect(again.restartCount).to.equal(0);
    const file = join(daemon.home, 'host/journal/journal');
    const grown = async () => (await readFile(file, 'utf8')).trim().split('\n').map(Number);
    const length = (await grown()).length;
    const entries = await eventually('more entries', async () => {
      const now = await grown();
      return now.length > length ? now : undefined;
    });
    expect(entries).to.deep.equal(entries.map((_, index) => index + 1));
  });

  it('restarts a workload that died, with its volume still mounted', async () => {
    const { volume, service } = workload(daemon, 'brief', 'echo run >> /data/runs; exit 1');
    await daemon.ok('POST', volumes, volume);
    await daemon.ok('POST', '/v1/namespaces/default/services', service);
    const file = join(daemon.home, 'host/brief/runs');
    await eventually(
      'two runs',
      async () => (await readFile(file, 'utf8').catch(() => '')).split('\n').length > 2,
    );
    const instance = await daemon.ok('GET', '/v1/namespaces/default/instances/brief-0');
    expect(instance.exitCode).to.equal(1);
  });

  it('a second daemon on its directory refuses and names its pid', async () => {
    const [program = '', ...args] = daemon.arguments({ grpc: '0', rest: '0' });
    const second = await finish(process.execPath, [program, ...args], daemon.environment);
    expect(second.code).to.equal(1);
    expect(second.stderr).to.contain(`process ${daemon.pid}`).and.contain(daemon.data);
    expect((await daemon.rest('GET', '/v1/namespaces')).status).to.equal(200);
  });

  it('SIGTERM stops workloads, releases volumes, prints the summary and exits 0; a start resumes', async () => {
    const script =
      'trap "echo bye >> /data/log; exit 0" TERM; echo hi >> /data/log; while :; do sleep 0.1; done';
    for (const name of ['one', 'two']) {
      const { volume, service } = workload(daemon, name, script);
      await daemon.ok('POST', volumes, volume);
      // Long enough for the trap on a slow machine.
      const patient = { ...service, terminationGracePeriodSeconds: 60 };
      await daemon.ok('POST', '/v1/namespaces/default/services', patient);
    }
    const log = (name: string) =>
      readFile(join(daemon.home, 'host', name, 'log'), 'utf8').catch(() => '');
    const untilOutput = (text: string) =>
      eventually(`output of both: ${JSON.stringify(text)}`, async () => {
        const both = [await log('one'), await log('two')];
        return both.every((content) => content === text);
      });
    await untilOutput('hi\n');
    await eventually('both volumes bound', async () =>
      (await daemon.list(volumes)).every((v) => v.status === 'Bound'),
    );
    expect(await daemon.end('SIGTERM')).to.equal(0);
    expect(daemon.log).to.match(/"detached":2,"total":2,"msg":"All volumes torn down"/);
    await untilOutput('hi\nbye\n');
    await daemon.run();
    await untilOutput('hi\nbye\nhi\n');
  });

  it('a spent shutdown budget is one warning and no summary', async () => {
    await daemon.dispose();
    daemon = await TestDaemon.start({
      environment: { KEDGE_RUNTIME_SHUTDOWN_TIMEOUT_SECONDS: '0' },
    });
    const { volume, service } = workload(daemon, 'w', 'sleep 1000');
    await daemon.ok('POST', volumes, volume);
    await daemon.ok('POST', '/v1/namespaces/default/services', service);
    await eventually('the volume bound', async () =>
      (await daemon.list(volumes)).every((v) => v.status === 'Bound'),
    );
    expect(await daemon.end('SIGTERM')).to.equal(0);
    expect(daemon.log).to.contain('Shutdown budget spent before volume teardown');
    expect(daemon.log).to.not.contain('All volumes torn down');
    expect(daemon.log).to.not.contain('Volume teardown incomplete');
  });

  it('is ready quickly and idles quietly (reported, not asserted)', async () => {
    const ticks = async () => {
      const stat = await readFile(`/proc/${daemon.pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(fields[11]) + Number(fields[12]);
    };
    const before = await ticks();
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const share = ((await ticks()) - before) / 2;
    console.log(`      start-up ${daemon.startUpMs} ms, idle CPU ${share} %`);
  });
});
