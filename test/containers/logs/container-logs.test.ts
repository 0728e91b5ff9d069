import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ContainerRuntime, EngineClient, type LogLine } from '@kedge/controllers';
import { silentLogger, systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { busyboxImage, RealEngine, requireEngine } from '../engine.js';

describe('the log of a container', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let folder: string;
  let runtime: ContainerRuntime;
  const cluster = randomUUID();

  before(async function () {
    requireEngine(this);
    engine = await RealEngine.start();
    folder = await mkdtemp(join(tmpdir(), 'kedge-lost-'));
    await daemon();
  });
  after(async () => {
    runtime?.close();
    await engine?.stop();
    if (folder) await rm(folder, { recursive: true });
  });

  /** Replaces the runtime by that of another process of the daemon. */
  async function daemon(): Promise<void> {
    runtime?.close();
    runtime = new ContainerRuntime({
      engine: new EngineClient({ socketPath: engine.socketPath, clock: systemClock }),
      cluster,
      directory: folder,
      clock: systemClock,
      logger: silentLogger,
    });
    await runtime.availability();
  }
  async function startedWith(script: string): Promise<string> {
    const id = randomUUID();
    const command = ['sh', '-c', script];
    await runtime.start({ id, image: busyboxImage, command, env: {}, mounts: [] });
    await eventually('its first line', async () => (await linesOf(id)).length === 1);
    return id;
  }
  async function pidOf(id: string): Promise<number> {
    const state = await runtime.observe(id);
    return state.state === 'running' ? state.pid : 0;
  }
  /** Kills the engine, and then the init process of a container. */
  async function endWithoutEngine(pid: number): Promise<void> {
    await engine.killDockerd();
    process.kill(pid, 'SIGKILL');
    await eventually('its end', () => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    });
  }
  const ended = (id: string) =>
    eventually('its end to be seen', async () => {
      const found = await runtime.observe(id).catch(() => undefined);
      return found?.state === 'exited';
    });
  const withoutTimes = (lines: readonly LogLine[]): readonly string[] =>
    lines.map(({ content }) => content.replaceAll(/20\d\d-\S+Z/g, 'TIME'));

  async function linesOf(id: string, after?: readonly number[]): Promise<readonly LogLine[]> {
    const { signal } = new AbortController();
    const lines: LogLine[] = [];
    const request = { tail: 0, follow: false, signal, after };
    for await (const line of runtime.readLog(id, request)) lines.push(line);
    return lines;
  }

  it('has the time of each line, and is read until a time', async () => {
    const id = randomUUID();
    // It keeps running: the end of a container kills its other processes.
    const script =
      'echo one; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo two; exec sleep 600';
    await runtime.start({
      id,
      image: busyboxImage,
      command: ['sh', '-c', script],
      env: {},
      mounts: [],
    });
    await eventually('the first line', async () => (await linesOf(id)).length === 1);
    await eventually('it to run', async () => (await runtime.observe(id)).state === 'running');
    const between = Date.now();
    const go = await runtime.exec(id, { command: ['touch', '/tmp/go'], terminal: undefined });
    expect((await go.exited).code).to.equal(0);
    const [one, two] = await eventually('the second line', async () => {
      const found = await linesOf(id);
      return found.length === 2 ? found : undefined;
    });
    expect(one?.time).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
    expect(Date.parse(one?.time ?? '')).to.be.at.most(between);
    expect(Date.parse(two?.time ?? '')).to.be.at.least(between);
    const { signal } = new AbortController();
    const early: string[] = [];
    const request = { tail: 0, follow: false, signal, until: between };
    for await (const { content } of runtime.readLog(id, request)) early.push(content);
    expect(early).to.deep.equal(['one']);
    await runtime.stop(id, 0);
    await runtime.remove(id);
  });

  it('of one that ended while the engine was unavailable has one line about the outage in which output may be missing; that of others has none', async () => {
    const ending = await startedWith('echo up; sleep 600');
    const going = await startedWith('echo up; exec sleep 600');
    await endWithoutEngine(await pidOf(ending));
    await engine.startDockerd();
    await ended(ending);
    const lines = await eventually('the end of the outage to be recorded', async () => {
      const found = await linesOf(ending);
      return found.some(({ content }) => content.includes('to now')) ? undefined : found;
    });
    expect(withoutTimes(lines)).to.deep.equal([
      'up',
      '[kedge] the container engine was unavailable from TIME to TIME; the last output of this container, which ended at TIME, may be missing',
    ]);
    expect(await linesOf(ending, lines.at(-1)?.cursor), 'resumed').to.deep.equal([]);
    expect((await linesOf(going)).map(({ content }) => content)).to.deep.equal(['up']);
    for (const id of [ending, going]) await runtime.stop(id, 0).then(() => runtime.remove(id));
  });

  it('has such a line also if kedged did not run in the outage, and keeps it for later processes', async () => {
    const earlier = await startedWith('echo up');
    await ended(earlier);
    const ending = await startedWith('echo up; sleep 600');
    const pid = await eventually('it to run', async () => (await pidOf(ending)) || undefined);
    runtime.close();
    const closedAt = Date.now();
    await endWithoutEngine(pid);
    await engine.startDockerd();
    const outage =
      '[kedge] the container engine was restarted between TIME and TIME, while kedged did not run; the last output of this container, which ended at TIME, may be missing';
    for (const which of ['first', 'later']) {
      await daemon();
      await ended(ending);
      const lines = await eventually(`the line, ${which}`, async () => {
        const found = await linesOf(ending);
        return found.length === 2 ? found : undefined;
      });
      expect(withoutTimes(lines), which).to.deep.equal(['up', outage]);
      const [, from = ''] = /between (\S+) and/.exec(lines.at(-1)?.content ?? '') ?? [];
      expect(Date.parse(from), which).to.be.at.most(closedAt);
      expect(withoutTimes(await linesOf(earlier)), which).to.deep.equal(['up']);
    }
    for (const id of [ending, earlier]) await runtime.remove(id);
  });
});
