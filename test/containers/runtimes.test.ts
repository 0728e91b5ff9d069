import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContainerRuntime, EngineClient, ProcessRuntime } from '@kedge/controllers';
import { type Logger, systemClock } from 'kedge';
import { busyboxImage, RealEngine, requireEngine } from './engine.js';
import { runtimeConformance } from './runtime-conformance.js';
import { SharedDirectory } from './shared-directory.js';

const nothing = (): void => undefined;
const silent: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => silent,
};

describe('runtimes', function () {
  this.timeout(300_000);
  let folder: string;
  let volumes: SharedDirectory;
  let engine: RealEngine;
  const cluster = randomUUID();

  before(async function () {
    requireEngine(this);
    folder = await mkdtemp(join(tmpdir(), 'kedge-runtimes-'));
    volumes = await SharedDirectory.make();
    engine = await RealEngine.start();
  });
  after(async () => {
    await engine?.stop();
    await volumes?.remove();
    if (folder) await rm(folder, { recursive: true, force: true });
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
    base: { image: busyboxImage },
    volumes: volumes.path,
  }));
});
