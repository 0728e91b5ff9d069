import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import type { WorkloadSpec } from '../../runtime/runtime.js';
import { ProcessRuntime } from '../process-runtime.js';

describe('a process with limits on a machine without control groups', () => {
  let directory: string;
  let runtime: ProcessRuntime;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-limited-'));
    runtime = new ProcessRuntime({
      directory,
      hiddenDirectories: [],
      clock: systemClock,
      cgroups: { root: join(directory, 'no-cgroups') },
    });
  });
  afterEach(async () => {
    for (const id of await runtime.workloads()) {
      await runtime.stop(id, 0);
      await eventually('the removal', () => runtime.remove(id).then(() => true));
    }
    runtime.close();
    await rm(directory, { recursive: true });
  });

  const spec = (more: Partial<WorkloadSpec>): WorkloadSpec => ({
    id: randomUUID(),
    command: ['/bin/sleep', '600'],
    env: {},
    mounts: [],
    ...more,
  });
  const limits = { memoryBytes: 2 ** 27 };

  it('runs without them, and its state reports them with the remedy', async () => {
    const limited = spec({ limits });
    await runtime.start(limited);
    const state = await eventually('it to run', async () => {
      const found = await runtime.observe(limited.id);
      return found.state === 'running' ? found : undefined;
    });
    expect(state.unenforced).to.match(
      /^limits of memory \(.*\) can't be enforced by this kedged; /,
    );
  });

  it('is not started if the limits are strict', async () => {
    const strict = spec({ limits, strictLimits: true });
    const failure = await runtime.start(strict).then(
      () => 'started',
      (error: Error) => error.message,
    );
    expect(failure).to.match(/limits of memory .* can't be enforced/);
    expect(await runtime.observe(strict.id)).to.deep.equal({ state: 'absent' });
  });

  it('runs as usual if it has none', async () => {
    const free = spec({ strictLimits: true, limits: {} });
    await runtime.start(free);
    const state = await eventually('it to run', async () => {
      const found = await runtime.observe(free.id);
      return found.state === 'running' ? found : undefined;
    });
    expect(state).to.not.have.property('unenforced');
  });

  it('has the control group on record by the name of an earlier release', async () => {
    const id = randomUUID();
    const root = join(directory, 'no-cgroups');
    const group = join(root, 'memory/kedge', id);
    const run = join(directory, id, 'run-1');
    for (const folder of [group, join(run, 'claimed')]) await mkdir(folder, { recursive: true });
    await writeFile(join(group, 'memory.oom_control'), 'oom_kill 1\n');
    await writeFile(join(run, 'groups'), `${join(group, 'cgroup.procs')}\n`);
    await writeFile(join(run, 'exit'), '137');
    const upgraded = new ProcessRuntime({
      directory,
      hiddenDirectories: [],
      clock: systemClock,
      cgroups: { root, cluster: randomUUID() },
    });
    expect(await upgraded.observe(id)).to.include({ state: 'exited', reason: 'OOMKilled' });
    upgraded.close();
    await rm(root, { recursive: true });
    await rm(join(directory, id), { recursive: true });
  });
});
