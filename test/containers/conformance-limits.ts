import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Runtime, WorkloadSpec, WorkloadState } from '@kedge/controllers';
import { eventually } from 'kedge/testing';

/** The parts of a conformance suite that the tests of limits use. */
export interface LimitedWorkloads {
  /** The specification of a shell that runs a script. */
  readonly shell: (script: string, more: Partial<WorkloadSpec>) => WorkloadSpec;
  readonly runtime: () => Runtime;
  readonly logOf: (id: string) => Promise<readonly string[]>;
}

/** Defines the tests of a runtime that enforces the limits of workloads. */
export function limitConformance(workloads: LimitedWorkloads): void {
  const { shell, runtime, logOf } = workloads;
  const observe = (spec: WorkloadSpec): Promise<WorkloadState> => runtime().observe(spec.id);

  async function outputOf(spec: WorkloadSpec): Promise<readonly string[]> {
    await runtime().start(spec);
    await eventually('the end', async () => (await observe(spec)).state === 'exited', 180_000);
    return logOf(spec.id);
  }

  it('a workload that uses more memory than its limit is killed, and the reason is reported', async () => {
    // The shell keeps what it read in a variable.
    const script = 'x=$(head -c 100000000 /dev/zero | tr "\\0" x); echo survived';
    const spec = shell(script, { limits: { memoryBytes: 32 * 2 ** 20 } });
    expect(await outputOf(spec)).to.not.include('survived');
    expect(await observe(spec)).to.deep.include({
      state: 'exited',
      exitCode: 137,
      reason: 'OOMKilled',
      requested: false,
    });
  });

  it('a workload has at most as many processes as its limit allows', async () => {
    const script =
      'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 60 & done; echo all';
    const spec = shell(script, { limits: { pids: 12 } });
    const lines = await outputOf(spec);
    expect(lines.join('\n')).to.match(/can't fork|Cannot fork|fork: /);
    expect(lines).to.not.include('all');
    expect(await outputOf(shell(`${script}; kill $(jobs -p)`, {}))).to.include('all');
  });

  it('a limited workload that ignores SIGTERM is killed after its grace period, with processes of other sessions', async () => {
    const script = "trap '' TERM; setsid sleep 611 & echo up; while :; do sleep 0.05; done";
    const spec = shell(script, { limits: { memoryBytes: 2 ** 26, pids: 50 } });
    await runtime().start(spec);
    await eventually('it to be up', async () => (await logOf(spec.id)).includes('up'));
    await runtime().stop(spec.id, 200);
    const found = spawnSync('pgrep', ['-f', 'sleep 611'], { encoding: 'utf8' });
    expect(found.stdout).to.equal('');
    expect(await observe(spec)).to.deep.include({
      state: 'exited',
      exitCode: 137,
      requested: true,
    });
  });

  it('a limit that is changed in the control group is reported until it is restored', async () => {
    const spec = shell('sleep 600', { limits: { memoryBytes: 2 ** 26, pids: 50 } });
    await runtime().start(spec);
    const running = async () => {
      const state = await observe(spec);
      return state.state === 'running' ? state : undefined;
    };
    const { pid } = await eventually('it to run', running);
    const isUnified = existsSync('/sys/fs/cgroup/cgroup.controllers');
    const controller = isUnified ? '' : 'memory';
    const groups = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n');
    const folder = groups.find((line) => line.split(':')[1] === controller)?.split(':')[2];
    const file = isUnified ? 'memory.max' : 'memory.limit_in_bytes';
    const path = join('/sys/fs/cgroup', controller, String(folder), file);
    const before = readFileSync(path, 'utf8').trim();
    expect(before).to.equal(`${2 ** 26}`);
    expect(await running()).to.not.have.property('changedLimits');
    writeFileSync(path, `${2 ** 25}`);
    expect((await running())?.changedLimits).to.match(
      /(memory 32Mi instead of 64Mi|has "33554432" instead of "67108864").*restart of the instance/,
    );
    writeFileSync(path, before);
    expect(await running()).to.not.have.property('changedLimits');
  });

  it('a workload gets at most the processor time of its limit', async () => {
    // 0.2 of a processor: a fifth of the time that passes.
    const script =
      'end=$(($(date +%s) + 3)); while [ $(date +%s) -lt $end ]; do :; done; cat /proc/self/stat >/dev/null; times';
    const lines = await outputOf(shell(script, { limits: { cpuMillis: 200 } }));
    const used = [...lines.join(' ').matchAll(/(\d+)m([\d.]+)s/g)].reduce(
      (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
      0,
    );
    expect(used).to.be.within(0.05, 1.6);
  });
}
