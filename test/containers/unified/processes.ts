// Runs in a guest whose kernel has control groups of v2; see unified.test.ts.
import { readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProcessRuntime } from '@kedge/controllers';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { runtimeConformance } from '../runtime-conformance.js';
import { SharedDirectory } from '../shared-directory.js';

describe('processes on a kernel with control groups of v2', () => {
  let folder: string;
  let volumes: SharedDirectory;
  const groups = '/sys/fs/cgroup';

  before(async () => {
    expect(await readFile(join(groups, 'cgroup.controllers'), 'utf8')).to.match(
      /cpu.*memory.*pids/,
    );
    folder = await mkdtemp(join(tmpdir(), 'kedge-unified-'));
    volumes = await SharedDirectory.make();
  });
  after(async () => {
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
});
