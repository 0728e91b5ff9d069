import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import type { TestDaemon } from '../acceptance/daemon.js';
import { busyboxImage, type RealEngine } from './engine.js';
import { startEngineAndDaemon, stopEngineAndDaemon } from './engine-daemon.js';

const base = '/v1/namespaces/default';
/** Stops of an engine with live-restore among starts of containers. */
const rounds = 2;

describe('an engine with live-restore that is stopped gracefully while it starts containers', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let daemon: TestDaemon;

  before(async function () {
    ({ engine, daemon } = await startEngineAndDaemon(this));
  });
  after(() => stopEngineAndDaemon({ engine, daemon }));

  it('has all of them running afterwards, without a counted restart', async () => {
    let ended = 0;
    for (let round = 0; round < rounds; round += 1) {
      const name = `r${round}`;
      await daemon.ok('POST', `${base}/services`, {
        ...{ name, image: busyboxImage, command: ['sleep', '600'], scale: 8 },
        ...{ terminationGracePeriodSeconds: 0 },
      });
      await eventually('the first container', () => engine.docker('ps', '-aq') !== '');
      await engine.killDockerd('SIGTERM');
      await engine.startDockerd();
      const found = await eventually(
        `${name} to run`,
        async () => {
          const items = await daemon.list(`${base}/instances`);
          return items.every(({ status }) => status === 'Running') && items.length === 8
            ? items
            : undefined;
        },
        90_000,
      );
      expect(
        found.map(({ restartCount, backoff }) => [
          restartCount,
          (backoff as { crashes?: number } | undefined)?.crashes ?? 0,
        ]),
        name,
      ).to.deep.equal(found.map(() => [0, 0]));
      for (const { backoff } of found)
        ended += (backoff as { engineEnds?: number } | undefined)?.engineEnds ?? 0;
      await daemon.ok('DELETE', `${base}/services/${name}`);
      // Kedge frees a run that the engine does not continue after 60 s without an answer.
      await eventually('its end', () => engine.docker('ps', '-aq') === '', 150_000).catch(
        (error: Error) => {
          throw new Error(
            `${error.message}\n${engine.state()}\nkedged:\n${daemon.log.slice(-8_000)}`,
          );
        },
      );
    }
    console.log(`      ${rounds} stops of the engine ended ${ended} containers`);
  });
});

describe('an engine without live-restore that is restarted', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let daemon: TestDaemon;

  before(async function () {
    ({ engine, daemon } = await startEngineAndDaemon(this, { engine: { liveRestore: false } }));
  });
  after(() => stopEngineAndDaemon({ engine, daemon }));

  const instance = async (name: string) =>
    (await daemon.rest('GET', `${base}/instances/${name}`)).body;
  const running = (name: string, not = '') =>
    eventually(
      `${name} Running`,
      async () => {
        const body = await instance(name);
        return body.status === 'Running' && body.containerId !== not ? body : undefined;
      },
      90_000,
    );
  const create = (name: string, script: string, more: object = {}) =>
    daemon.ok('POST', `${base}/services`, {
      name,
      image: busyboxImage,
      command: ['/bin/sh', '-c', script],
      terminationGracePeriodSeconds: 1,
      ...more,
    });

  it('has its workloads started again without a backoff and without a count, also those with restartPolicy Never', async () => {
    await create('steady', 'exec sleep 600');
    await create('once', 'exec sleep 600', { restartPolicy: 'Never' });
    await create('loop', 'sleep 1; exit 3');
    const crashed = await eventually('a restart', async () => {
      const body = await instance('loop-0');
      return Number(body.restartCount) >= 1 ? Number(body.restartCount) : undefined;
    });
    let [steady, once] = [await running('steady-0'), await running('once-0')];
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await engine.killDockerd(signal);
      await engine.startDockerd();
      const backAt = performance.now();
      [steady, once] = [
        await running('steady-0', String(steady.containerId)),
        await running('once-0', String(once.containerId)),
      ];
      // Nothing waits for a backoff: the watch of the engine waits 5 s at most.
      expect(performance.now() - backAt, signal).to.be.below(30_000);
      expect([steady.restartCount, once.restartCount], signal).to.deep.equal([0, 0]);
    }
    await eventually(
      'a further counted restart of the crash loop',
      async () => {
        return Number((await instance('loop-0')).restartCount) > crashed;
      },
      60_000,
    );
    // A later daemon has the same counts.
    await daemon.end('SIGKILL');
    await daemon.run();
    expect((await running('steady-0')).restartCount).to.equal(0);
    await daemon.cli('exec', 'steady-0', '--', 'killall', 'sleep');
    const own = await eventually(
      'the counted end of its process',
      async () => {
        const body = await instance('steady-0');
        return body.status === 'Running' && body.restartCount === 1;
      },
      60_000,
    );
    expect(own).to.equal(true);
    for (const name of ['steady', 'once', 'loop'])
      await daemon.ok('DELETE', `${base}/services/${name}`);
  });

  it('has them started again without a backoff also if kedged did not run; a kill of a container alone is counted', async () => {
    await create('deaf', 'exec sleep 600');
    await create('polite', 'trap "exit 0" TERM; while :; do sleep 0.1; done');
    await create('job', 'exec sleep 600', { restartPolicy: 'Never' });
    const names = ['deaf-0', 'polite-0', 'job-0'];
    let before = await Promise.all(names.map((name) => running(name)));
    for (const [index, signal] of (['SIGTERM', 'SIGKILL'] as const).entries()) {
      await daemon.end('SIGKILL');
      await engine.killDockerd(signal);
      await engine.startDockerd();
      await daemon.run();
      const startedAt = performance.now();
      const after = await Promise.all(
        before.map(({ name, containerId }) => running(String(name), String(containerId))),
      );
      expect(performance.now() - startedAt, signal).to.be.below(30_000);
      for (const { name, restartCount, backoff } of after) {
        expect(restartCount, `${String(name)} after ${signal}`).to.equal(0);
        expect(backoff, `${String(name)} after ${signal}`).to.deep.include({
          ...{ engineEnds: index + 1, crashes: 0 },
        });
      }
      before = after;
    }
    const [deaf] = before;
    await daemon.end('SIGKILL');
    engine.docker('kill', '--signal', 'KILL', String(deaf?.containerId));
    await daemon.run();
    const own = await running('deaf-0', String(deaf?.containerId));
    expect(own.restartCount).to.equal(1);
    for (const name of ['deaf', 'polite', 'job'])
      await daemon.ok('DELETE', `${base}/services/${name}`);
  });

  it('has all containers stopped at the same time, each with its grace', async () => {
    const script = 'trap "sleep 5; exit 0" TERM; echo up; while :; do sleep 0.1; done';
    await create('slow', script, { scale: 6, terminationGracePeriodSeconds: 30 });
    for (const ordinal of [0, 1, 2, 3, 4, 5]) await running(`slow-${ordinal}`);
    const askedAt = performance.now();
    await daemon.end('SIGTERM');
    expect(performance.now() - askedAt).to.be.within(5_000, 20_000);
    const format = '{{.Label "svc.io/instance"}} {{.Status}}';
    const states = engine.docker('ps', '--all', '--format', format).split('\n');
    expect(states.filter((line) => line.includes('Exited (0)'))).to.have.lengthOf(6);
    await daemon.run();
    await running('slow-0');
  });
});
