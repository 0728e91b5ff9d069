import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { silentLogger, systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { FakeContainers } from '../../testing/fake-containers.js';
import { FakeEngine } from '../../testing/fake-engine.js';
import type { WorkloadSpec } from '../runtime/runtime.js';
import { ContainerRuntime } from './container-runtime.js';
import { EngineClient } from './engine/engine-client.js';

const id = '33333333-3333-4333-8333-333333333333';
const spec: WorkloadSpec = {
  ...{ id, image: 'x:1', command: ['/bin/true'], env: {}, mounts: [] },
  network: 'none',
};

describe('a removed container workload', () => {
  let engine: FakeEngine;
  let containers: FakeContainers;
  let directory: string;
  let runtime: ContainerRuntime;

  beforeEach(async () => {
    engine = await FakeEngine.start();
    containers = new FakeContainers(engine);
    directory = await mkdtemp(join(tmpdir(), 'kedge-removed-'));
    runtime = new ContainerRuntime({
      engine: new EngineClient({ socketPath: engine.socketPath, clock: systemClock }),
      ...{ cluster: 'c', directory, clock: systemClock, logger: silentLogger },
    });
  });
  afterEach(async () => {
    runtime.close();
    await engine.stop();
    await rm(directory, { recursive: true });
  });

  it('leaves no record of a stop: the first run of the next workload with its id has its own signal and grace period', async () => {
    for (let round = 0; round < 2; round += 1) {
      await runtime.start(spec);
      await eventually('it to run', async () => (await runtime.observe(id)).state === 'running');
      expect((await runtime.requestStop(id, 60_000)).type).to.equal('stopping');
      containers.end(143);
      await runtime.remove(id);
      expect(containers.byName.size).to.equal(0);
    }
    expect(containers.signals).to.deep.equal(['SIGTERM', 'SIGTERM']);
  });
});
