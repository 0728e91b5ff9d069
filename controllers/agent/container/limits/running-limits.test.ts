import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import type { ResourceLimits } from '../../../resources/index.js';
import type { ContainerInspection } from '../engine/engine-containers.js';
import { limitsIn } from '../engine/engine-limits.js';
import { type LimitField, limitsLabel } from './changed-limits.js';
import { limitSettings } from './container-limits.js';
import { withLimits } from './running-limits.js';

const id = 'e'.repeat(64);
const { signal } = new AbortController();

describe('the limits that the kernel enforces for a container', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-limits-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  async function write(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, text] of Object.entries(files)) {
      const path = join(directory, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, `${text}\n`);
    }
  }

  /** The state of a container with these limits, whose engine has dropped and does not support some. */
  async function stateOf(
    limits: ResourceLimits,
    dropped: Readonly<Record<string, number>> = {},
    unsupported: readonly LimitField[] = [],
  ) {
    const settings = limitSettings(limits);
    const found = {
      ...{ id, name: 'kedge-c-u-1', pid: 7 },
      labels: limitsLabel(settings, limits),
      limits: limitsIn({ ...settings, ...dropped }),
    } as unknown as ContainerInspection;
    let asked = 0;
    const engine = {
      unsupportedLimits: () => {
        asked += 1;
        return Promise.resolve(unsupported);
      },
    };
    const state = { state: 'running', run: 1, pid: 7, startedAt: 0 } as const;
    const files = { proc: join(directory, 'proc'), cgroups: join(directory, 'cgroup') };
    const { unenforced, changedLimits } = await withLimits(engine, state, found, signal, files);
    return { unenforced, changedLimits, asked };
  }
  const all = { cpuMillis: 500, cpuRequestMillis: 250, memoryBytes: 2 ** 26 + 1, pids: 50 };
  const same = { unenforced: undefined, changedLimits: undefined, asked: 0 };

  const v1 = {
    'proc/7/cgroup': ['4:memory:', '3:cpu,cpuacct:', '2:pids:', '0::']
      .map((line) => `${line}/docker/${id}`)
      .join('\n'),
    [`cgroup/memory/docker/${id}/memory.limit_in_bytes`]: `${2 ** 26}`,
    [`cgroup/cpu/docker/${id}/cpu.cfs_quota_us`]: '50000',
    [`cgroup/cpu/docker/${id}/cpu.cfs_period_us`]: '100000',
    [`cgroup/cpu/docker/${id}/cpu.shares`]: '256',
    [`cgroup/pids/docker/${id}/pids.max`]: '50',
  };
  const scope = `system.slice/docker-${id}.scope`;
  const v2 = {
    'proc/7/cgroup': `0::/${scope}`,
    [`cgroup/${scope}/memory.max`]: `${2 ** 26}`,
    [`cgroup/${scope}/cpu.max`]: '50000 100000',
    // Engines convert shares in different ways.
    [`cgroup/${scope}/cpu.weight`]: '77',
    [`cgroup/${scope}/pids.max`]: '50',
  };

  it('are those of its creation on cgroup v1 and v2, rounded to pages', async () => {
    for (const files of [v1, v2]) {
      await write(files);
      expect(await stateOf(all)).to.deep.equal(same);
    }
  });

  it('that were changed in the control group are reported with the command that restores them', async () => {
    const cases = [
      [v1, `memory/docker/${id}/memory.limit_in_bytes`, `${2 ** 30}`, /memory 1Gi instead of/],
      [v1, `memory/docker/${id}/memory.limit_in_bytes`, '9223372036854771712', /memory no limit/],
      [v1, `cpu/docker/${id}/cpu.cfs_quota_us`, '-1', /cpu no limit instead of 500m/],
      [v1, `cpu/docker/${id}/cpu.cfs_period_us`, '50000', /cpu 1000m instead of 500m/],
      [v1, `cpu/docker/${id}/cpu.shares`, '2', /cpu shares 2 instead of 256/],
      [v1, `pids/docker/${id}/pids.max`, 'max', /pids no limit instead of 50/],
      [v2, `${scope}/memory.max`, 'max', /memory no limit instead of/],
      [v2, `${scope}/cpu.max`, 'max 100000', /cpu no limit instead of 500m/],
      [v2, `${scope}/cpu.max`, '20000 100000', /cpu 200m instead of 500m/],
      [v2, `${scope}/pids.max`, '9', /pids 9 instead of 50/],
    ] as const;
    for (const [files, name, value, words] of cases) {
      await write(files);
      await write({ [`cgroup/${name}`]: value });
      const { changedLimits, unenforced } = await stateOf(all);
      expect(changedLimits, name)
        .to.match(words)
        .and.match(/; docker update .* restores them/);
      expect(unenforced).to.equal(undefined);
    }
  });

  it('that were added are reported with a restart', async () => {
    await write(v2);
    expect((await stateOf({ pids: 50 })).changedLimits).to.match(
      /cpu 500m instead of no limit, memory 64Mi instead of no limit, and not by Kedge; a restart/,
    );
  });

  it('are those of the engine if its control groups are not visible here', async () => {
    for (const cgroup of [
      '0::/../../docker/x',
      `0::/../${id}`,
      `0::/docker/${'f'.repeat(64)}`,
      `0::/docker/${id}/absent`,
      '',
    ]) {
      await write({ ...v2, 'proc/7/cgroup': cgroup });
      expect(await stateOf(all), cgroup).to.deep.equal(same);
    }
    await rm(join(directory, 'proc'), { recursive: true });
    expect(await stateOf(all)).to.deep.equal(same);
  });

  it('that the kernel does not have are reported with a remedy other than a restart', async () => {
    const lacking = await stateOf(all, { PidsLimit: 0, Memory: 0, MemorySwap: -1 }, [
      'pids',
      'memoryBytes',
      'memoryAndSwapBytes',
    ]);
    expect(lacking.changedLimits).to.equal(undefined);
    expect(lacking.unenforced).to.equal(
      'limits of memory, pids are not enforced, because the kernel of the node does not have them; boot one that has them, choose another node (nodeSelector), or remove the limits',
    );
    // The default limit of processes, which no user requested.
    expect(await stateOf({}, { PidsLimit: 0 }, ['pids'])).to.deep.equal({ ...same, asked: 1 });
    // If only the limit of swap is missing, the engine is not asked what it supports.
    expect(await stateOf(all, { MemorySwap: -1 })).to.deep.equal(same);
  });

  it('that were removed where the kernel has them are restored by the command', async () => {
    const removed = await stateOf(all, { PidsLimit: -1 });
    expect(removed.unenforced).to.equal(undefined);
    expect(removed.changedLimits)
      .to.contain('pids no limit instead of 50')
      .and.contain('docker up');
    const both = await stateOf(all, { PidsLimit: -1, CpuShares: 2 }, ['pids']);
    expect(both.unenforced).to.contain('limits of pids are not enforced');
    expect(both.changedLimits).to.contain('runs with cpu shares 2 instead of 256, and not');
  });
});
