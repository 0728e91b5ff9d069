import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { silentLogger, systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { FakeContainers } from '../../../testing/fake-containers.js';
import { FakeEngine } from '../../../testing/fake-engine.js';
import type { WorkloadSpec } from '../../runtime/runtime.js';
import { ContainerRuntime } from '../container-runtime.js';
import { ContainerRecords } from '../container-records.js';
import { EngineClient } from '../engine/engine-client.js';
import { MemoryKills } from './memory-kills.js';

const id = '22222222-2222-4222-8222-222222222222';
const spec: WorkloadSpec = {
  ...{ id, image: 'x:1', command: ['/bin/true'], env: {}, mounts: [] },
  network: 'none',
  limits: { memoryBytes: 2 ** 25 },
};

describe('a memory limit that the engine reports after the end was handled', () => {
  let engine: FakeEngine;
  let directory: string;
  let runtime: ContainerRuntime;
  let containers: FakeContainers;

  beforeEach(async () => {
    engine = await FakeEngine.start();
    directory = await mkdtemp(join(tmpdir(), 'kedge-late-limits-'));
    containers = new FakeContainers(engine);
    runtime = open();
  });
  afterEach(async () => {
    runtime.close();
    await engine.stop();
    await rm(directory, { recursive: true });
  });

  const open = (): ContainerRuntime =>
    new ContainerRuntime({
      engine: new EngineClient({ socketPath: engine.socketPath, clock: systemClock }),
      ...{ cluster: 'c', directory, clock: systemClock, logger: silentLogger },
      memoryKills: new MemoryKills({ logger: silentLogger, file: join(directory, 'no-kmsg') }),
    });

  async function start(): Promise<void> {
    await runtime.start(spec);
    await eventually('it to run', async () => (await runtime.observe(id)).state === 'running');
    await eventually('the watch', () => containers.watching !== undefined);
  }

  it('is the reason of that end from then on', async () => {
    await start();
    const container = containers.end(137);
    const end = await eventually('the end', async () => {
      const state = await runtime.observe(id);
      return state.state === 'exited' ? state : undefined;
    });
    expect(end).to.not.have.property('reason');
    let isNotified = false;
    runtime.onChange(() => (isNotified = true));
    containers.report('oom', container);
    await eventually('the notification', () => isNotified);
    expect(await runtime.observe(id)).to.include({ state: 'exited', reason: 'OOMKilled' });
  });

  it('is the reason of the previous end if the next run has begun, also for the next process of the daemon', async () => {
    await start();
    const container = containers.end(137);
    await eventually('the end', async () => (await runtime.observe(id)).state === 'exited');
    await start();
    expect(await runtime.observe(id)).to.not.have.property('previousEnd');
    containers.report('oom', container);
    const previousEnd = { exitCode: 137, reason: 'OOMKilled' };
    await eventually('the cause', async () => 'previousEnd' in (await runtime.observe(id)));
    expect(await runtime.observe(id)).to.deep.include({ state: 'running', run: 2, previousEnd });
    runtime.close();
    runtime = open();
    expect(await runtime.observe(id)).to.deep.include({ state: 'running', run: 2, previousEnd });
  });

  it('is not that of an end long after the kill that the engine reported', async () => {
    await start();
    const reports: string[] = [];
    runtime.onChange((changed) => reports.push(changed));
    const container = containers.end(137);
    await eventually('the end', async () => (await runtime.observe(id)).state === 'exited');
    reports.length = 0;
    containers.report('oom', container, systemClock.now() - 60_000);
    await eventually('the report', () => reports.length > 0);
    expect(await runtime.observe(id)).to.not.have.property('reason');
    containers.report('oom', container, systemClock.now());
    await eventually('the cause', async () => 'reason' in (await runtime.observe(id)));
  });

  it('is not that of a run that was killed on request', async () => {
    await start();
    await runtime.requestStop(id, 0);
    const container = containers.end(137);
    containers.report('oom', container);
    const records = new ContainerRecords(directory);
    await eventually(
      'the record of the report',
      async () => (await records.memoryLimitAt(id, 1)) !== undefined,
    );
    expect(await runtime.observe(id)).to.include({ state: 'exited', requested: true });
    expect(await runtime.observe(id)).to.not.have.property('reason');
    await start();
    expect(await runtime.observe(id)).to.not.have.property('previousEnd');
  });
});
