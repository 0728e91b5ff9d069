import { execFileSync } from 'node:child_process';
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

  for (const [version, files] of [
    ['v1', { 'memory.limit_in_bytes': '134217728', 'pids.max': '24' }],
    ['v2', { 'memory.max': '134217728', 'pids.max': '24' }],
  ] as const)
    it(`reports limits that were changed in control groups of ${version}, with the command that restores them`, async () => {
      const root = join(directory, version);
      const hierarchies = version === 'v1' ? ['memory', 'pids'] : [''];
      for (const name of hierarchies) {
        await mkdir(join(root, name), { recursive: true });
        await writeFile(join(root, name, 'cgroup.procs'), '');
      }
      if (version === 'v2') await writeFile(join(root, 'cgroup.controllers'), 'memory pids\n');
      const limited = new ProcessRuntime({
        ...{ directory: join(directory, 'w'), hiddenDirectories: [], clock: systemClock },
        cgroups: { root },
      });
      const workload = spec({ limits: { ...limits, pids: 20 } });
      await limited.start(workload);
      const running = async () => {
        const found = await limited.observe(workload.id);
        return found.state === 'running' ? found : undefined;
      };
      const state = await eventually('it to run', running);
      expect(state).to.not.have.any.keys('changedLimits', 'unenforced');
      const paths = Object.keys(files).map((name) =>
        join(root, version === 'v1' ? (name.split('.')[0] ?? '') : '', 'kedge', workload.id, name),
      );
      for (const path of paths) await writeFile(path, 'max\n');
      const changed = (await running())?.changedLimits ?? '';
      expect(changed).to.match(/^limits of the process were changed, and not by Kedge: /);
      expect(changed).to.contain(`${paths[1]} has "max" instead of "24"`);
      expect(changed).to.match(/ restores them, as does a restart of the instance$/);
      execFileSync('sh', ['-c', /as root, (.*) restores them/.exec(changed)?.[1] ?? '']);
      expect(await running()).to.not.have.property('changedLimits');
      // The group was removed, because the workload is ending.
      await rm(root, { recursive: true });
      expect(await running()).to.not.have.property('changedLimits');
      await limited.stop(workload.id, 0);
      await eventually('the removal', () => limited.remove(workload.id).then(() => true));
      limited.close();
    });

  it('reads the control group that an earlier release recorded', async () => {
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
