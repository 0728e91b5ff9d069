import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { silentLogger, systemClock } from 'kedge';
import { FakeEngine } from '../../testing/fake-engine.js';
import { ContainerRuntime } from './container-runtime.js';
import { EngineClient } from './engine/engine-client.js';

describe('the availability of the container runtime', () => {
  let engine: FakeEngine;
  let directory: string;
  let runtime: ContainerRuntime;

  beforeEach(async () => {
    engine = await FakeEngine.start();
    directory = await mkdtemp(join(tmpdir(), 'kedge-availability-'));
    runtime = new ContainerRuntime({
      engine: new EngineClient({ socketPath: engine.socketPath, clock: systemClock }),
      cluster: 'c',
      directory,
      clock: systemClock,
      logger: silentLogger,
    });
  });
  afterEach(async () => {
    runtime.close();
    await engine.stop();
    await rm(directory, { recursive: true });
  });

  it('is asked of the engine twice for many instances at the same time', async () => {
    // An unsupported version, so that the runtime makes no other call to the engine.
    engine.version = { Version: '1.0', ApiVersion: '1.1', MinAPIVersion: '1.0' };
    const answers = await Promise.all(Array.from({ length: 50 }, () => runtime.availability()));
    expect(answers.map(({ available }) => available)).to.deep.equal(answers.map(() => false));
    expect(engine.calls).to.deep.equal(['GET /version', 'GET /version']);
  });
});
