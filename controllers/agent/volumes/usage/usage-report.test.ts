import { expect } from 'chai';
import type { Volume } from '../../../volume/kind.js';
import { usageMetrics } from './usage-metrics.js';
import { usageChange, type VolumeUse } from './usage-report.js';

const now = '2026-01-01T00:00:00Z';
const volume = { namespace: 'n', name: 'v', metadata: {} } as unknown as Volume;

function use(usedBytes: bigint, more: Partial<VolumeUse> = {}, inodes = 10n): VolumeUse {
  const fileSystem = {
    usedBytes,
    totalBytes: 1_000n,
    availableBytes: 1_000n - usedBytes,
    usedInodes: inodes,
    totalInodes: 100n,
  };
  return { fileSystem, isOwn: true, ...more };
}

describe('the usage of a volume', () => {
  it('is written at first, and then if it changed by more than a hundredth of the total', () => {
    const first = usageChange(volume, use(500n), now);
    expect(first).to.deep.equal({
      usedBytes: '500',
      totalBytes: '1000',
      usedInodes: '10',
      totalInodes: '100',
    });
    const reported = { ...volume, ...first };
    expect(usageChange(reported, use(510n), now)).to.equal(undefined);
    expect(usageChange(reported, use(511n), now)).to.include({ usedBytes: '511' });
    expect(usageChange(reported, use(489n), now)).to.include({ usedBytes: '489' });
  });

  it('is a condition above 90 % of the space or the inodes, until it is below 88 %', () => {
    const full = usageChange(volume, use(901n), now);
    expect(full?.conditions?.[0]).to.include({
      type: 'SpaceLow',
      status: 'True',
      reason: 'NearlyFull',
      message: 'more than 90 % of the space of its file system is used',
    });
    const reported = { ...volume, ...full };
    expect(usageChange(reported, use(889n), now)?.conditions?.[0]?.status).to.equal('True');
    expect(usageChange(reported, use(880n), now)?.conditions?.[0]).to.include({
      status: 'False',
      reason: 'EnoughSpace',
    });
    expect(usageChange(volume, use(1n, {}, 91n), now)?.conditions?.[0]?.message).to.match(/inodes/);
    expect(usageChange(volume, use(900n), now)).not.to.have.property('conditions');
  });

  it('of a directory is that of its files, and the condition is about the disk that contains it', () => {
    const files = { usedBytes: 7n, usedInodes: 2n };
    const change = usageChange(volume, use(950n, { isOwn: false, files }), now);
    expect(change).to.include({ usedBytes: '7', usedInodes: '2', totalBytes: '1000' });
    expect(change?.conditions?.[0]?.message).to.match(/of the disk that it shares is used/);
    const unmeasured = usageChange(volume, use(5n, { isOwn: false }), now);
    expect(unmeasured).not.to.have.property('usedBytes');
  });

  it('has the names and labels of the kubelet as metrics', () => {
    const text = usageMetrics([{ namespace: 'n', name: 'v', use: use(500n) }]);
    const labels = '{namespace="n",persistentvolumeclaim="v"}';
    for (const [name, value] of [
      ['capacity_bytes', 1_000],
      ['available_bytes', 500],
      ['used_bytes', 500],
      ['inodes', 100],
      ['inodes_free', 90],
      ['inodes_used', 10],
    ] as const)
      expect(text).to.contain(`\nkubelet_volume_stats_${name}${labels} ${value}\n`);
    expect(usageMetrics([])).to.equal('');
  });
});
