import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContainerRuntime, EngineClient, ProcessRuntime } from '@kedge/controllers';
import { silentLogger, systemClock } from 'kedge';
import { busyboxImage, RealEngine } from './engine.js';
import { runtimeConformance } from './runtime-conformance.js';
import { SharedDirectory } from './shared-directory.js';

/**
 * Defines the conformance tests of both runtimes, with an engine that is started for those of containers.
 * @param container fields of all workloads in containers
 * @param requirements is called before the tests
 */
export function conformedRuntimes(
  container: { readonly network?: 'none' },
  requirements: (context: Mocha.Context) => Promise<void> | void,
): void {
  let folder: string;
  let volumes: SharedDirectory;
  let engine: RealEngine;
  const cluster = randomUUID();

  before(async function () {
    await requirements(this);
    folder = await mkdtemp(join(tmpdir(), 'kedge-runtimes-'));
    volumes = await SharedDirectory.make();
  });
  after(async () => {
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

  // Tests of processes alone need no engine, which takes long to start in a guest kernel.
  describe('with an engine', () => {
    before(async () => {
      engine = await RealEngine.start();
    });
    after(() => engine?.stop());

    runtimeConformance('containers', { seesLaterMounts: true, limits: true }, () => ({
      open: () =>
        new ContainerRuntime({
          engine: new EngineClient({ socketPath: engine.socketPath, clock: systemClock }),
          cluster,
          directory: join(folder, 'containers'),
          clock: systemClock,
          logger: silentLogger,
        }),
      base: { image: busyboxImage, ...container },
      volumes: volumes.path,
    }));
  });
}
