import { expect } from 'chai';
import type { JsonObject } from 'kedge/rpc';
import type { ResourceLimits } from '../../../resources/index.js';
import { changedLimits, limitsLabel } from './changed-limits.js';
import { limitSettings } from './container-limits.js';
import { limitsIn } from '../engine/engine-limits.js';

describe('the limits of a running container', () => {
  /** The message for a container that was created with `limits` and has `changes` in its configuration. */
  function messageFor(limits: ResourceLimits, changes: JsonObject): string | undefined {
    const created = limitSettings(limits);
    return changedLimits({
      ...{ id: '0123456789abcdef', name: 'kedge-c-u-1' },
      labels: limitsLabel(created, limits),
      limits: limitsIn({ ...created, ...changes }),
    });
  }
  const limits = { cpuMillis: 500, cpuRequestMillis: 250, memoryBytes: 2 ** 26, pids: 50 };

  it('are those of its creation, also where the kernel counts no swap, or the engine writes -1 for none', () => {
    expect(messageFor(limits, {})).to.equal(undefined);
    expect(messageFor(limits, { MemorySwap: -1 })).to.equal(undefined);
    expect(messageFor({}, { Memory: 0, MemorySwap: 0, CpuQuota: -1, CpuPeriod: 0 })).to.equal(
      undefined,
    );
    // The same limit in the form of docker update --cpus.
    expect(messageFor(limits, { CpuQuota: 0, CpuPeriod: 0, NanoCpus: 500_000_000 })).to.equal(
      undefined,
    );
  });

  it('that differ are reported with the command that restores them', () => {
    expect(messageFor(limits, { Memory: 2 ** 30, MemorySwap: 2 ** 30 })).to.equal(
      'container 0123456789ab runs with memory 1Gi instead of 64Mi, memory with swap 1Gi instead of 64Mi, and not by Kedge; docker update --memory 67108864 --memory-swap 67108864 kedge-c-u-1 restores them, as does a restart of the instance',
    );
    expect(messageFor(limits, { CpuQuota: 20_000, CpuShares: 1024, PidsLimit: -1 })).to.contain(
      'cpu 200m instead of 500m, cpu shares 1024 instead of 256, pids no limit instead of 50, and not by Kedge; docker update --cpu-period 100000 --cpu-quota 50000 --cpu-shares 256 --pids-limit 50 kedge-c-u-1',
    );
    expect(messageFor(limits, { CpuPeriod: 50_000 })).to.contain(
      'cpu 1000m instead of 500m, and not by Kedge; docker update --cpu-period 100000 --cpu-quota 50000 kedge-c-u-1',
    );
    expect(messageFor(limits, { MemorySwap: 2 ** 27 })).to.contain(
      'memory with swap 128Mi instead of',
    );
  });

  it('that were added are removed by a restart: the engine has no command for it', () => {
    expect(
      messageFor({}, { Memory: 2 ** 26, MemorySwap: 2 ** 27, NanoCpus: 1_500_000_000 }),
    ).to.equal(
      'container 0123456789ab runs with cpu 1500m instead of no limit, memory 64Mi instead of no limit, and not by Kedge; a restart of the instance restores them',
    );
  });

  it('of an earlier release are not compared', () => {
    const found = { id: '0', name: 'n', limits: limitsIn({ Memory: 1 }) };
    for (const labels of [{}, { 'svc.io/limits': 'x' }, { 'svc.io/limits': '{}' }])
      expect(changedLimits({ ...found, labels })).to.equal(undefined);
  });
});
