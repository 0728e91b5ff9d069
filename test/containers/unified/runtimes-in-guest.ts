// Runs in a guest whose kernel has control groups of v2; see unified.test.ts.
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContainerRuntime, EngineClient, ProcessRuntime } from '@kedge/controllers';
import { expect } from 'chai';
import { type Logger, systemClock } from 'kedge';
import { busyboxImage, RealEngine } from '../engine.js';
import { runtimeConformance } from '../runtime-conformance.js';
import { SharedDirectory } from '../shared-directory.js';

const nothing = (): void => undefined;
const silent: Logger = {
  ...{ debug: nothing, info: nothing, warn: nothing, error: nothing },
  child: () => silent,
};

describe('a guest', () => {
  let folder: string;
  let volumes: SharedDirectory;
  let engine: RealEngine;
  const cluster = randomUUID();
  const groups = '/sys/fs/cgroup';

  before(async () => {
    expect(await readFile(join(groups, 'cgroup.controllers'), 'utf8')).to.match(
      /cpu.*memory.*pids/,
    );
    folder = await mkdtemp(join(tmpdir(), 'kedge-unified-'));
    volumes = await SharedDirectory.make();
    engine = await RealEngine.start();
  });
  after(async () => {
    await engine.stop();
    await volumes.remove();
    await rm(folder, { recursive: true });
    expect(readdirSync(groups), 'left groups').to.not.include('kedge');
  });

  runtimeConformance('processes', { seesLaterMounts: false, limits: true }, () => ({
    open: () =>
      new ProcessRuntime({
        directory: join(folder, 'processes'),
        hiddenDirectories: [folder],
        volumeDirectories: [volumes.path],
        clock: systemClock,
      }),
    base: {},
    volumes: volumes.path,
  }));

  runtimeConformance('containers', { seesLaterMounts: true, limits: true }, () => ({
    open: () =>
      new ContainerRuntime({
        engine: new EngineClient({ socketPath: engine.socketPath, clock: systemClock }),
        cluster,
        directory: join(folder, 'containers'),
        clock: systemClock,
        logger: silent,
      }),
    // The guest has no bridges.
    base: { image: busyboxImage, network: 'none' },
    volumes: volumes.path,
  }));
});
